-- codes
SELECT
  TRIM(`t2`.`user`, ' \t\n\r\v\f') AS `u`,
  CAST(`t2`.`job` AS INT64) AS `c0`,
  CAST(`t2`.`age` AS INT64) AS `c1`,
  IF(
    (
      `t2`.`income` >= 0
    ) AND (
      `t2`.`income` < 100
    ),
    IF(
      `t2`.`raw` < CAST('0.0' AS FLOAT64),
      CAST('0.0' AS FLOAT64),
      IF(`t2`.`raw` > CAST('1.0' AS FLOAT64), CAST('1.0' AS FLOAT64), `t2`.`raw`)
    ),
    CAST(NULL AS FLOAT64)
  ) AS `x2`
FROM (
  SELECT
    `t1`.`kept user` AS `user`,
    `t1`.`kept raw` AS `raw`,
    CASE
      WHEN `t1`.`missing job`
      THEN 2
      WHEN `t1`.`value job` = 'cook'
      THEN 0
      WHEN `t1`.`value job` = 'it\'s'
      THEN 1
      ELSE 3
    END AS `job`,
    CASE
      WHEN `t1`.`missing age`
      THEN -1
      WHEN `t1`.`readable age`
      AND (
        `t1`.`value age` >= CAST('0.0' AS FLOAT64)
      )
      AND (
        `t1`.`value age` <= CAST('99.0' AS FLOAT64)
      )
      THEN LEAST(
        GREATEST(
          CAST(FLOOR(
            ieee_divide(
              (
                `t1`.`value age` * CAST('1.0' AS FLOAT64)
              ) - CAST('5.0' AS FLOAT64),
              CAST('5.0' AS FLOAT64)
            )
          ) AS INT64) + IF(
            `t1`.`value age` < ieee_divide(
              CAST('5.0' AS FLOAT64) + (
                CAST(CAST(FLOOR(
                  ieee_divide(
                    (
                      `t1`.`value age` * CAST('1.0' AS FLOAT64)
                    ) - CAST('5.0' AS FLOAT64),
                    CAST('5.0' AS FLOAT64)
                  )
                ) AS INT64) AS FLOAT64) * CAST('5.0' AS FLOAT64)
              ),
              CAST('1.0' AS FLOAT64)
            ),
            0,
            1
          ) + IF(
            `t1`.`value age` < ieee_divide(
              CAST('5.0' AS FLOAT64) + (
                CAST(CAST(FLOOR(
                  ieee_divide(
                    (
                      `t1`.`value age` * CAST('1.0' AS FLOAT64)
                    ) - CAST('5.0' AS FLOAT64),
                    CAST('5.0' AS FLOAT64)
                  )
                ) AS INT64) + IF(
                  `t1`.`value age` < ieee_divide(
                    CAST('5.0' AS FLOAT64) + (
                      CAST(CAST(FLOOR(
                        ieee_divide(
                          (
                            `t1`.`value age` * CAST('1.0' AS FLOAT64)
                          ) - CAST('5.0' AS FLOAT64),
                          CAST('5.0' AS FLOAT64)
                        )
                      ) AS INT64) AS FLOAT64) * CAST('5.0' AS FLOAT64)
                    ),
                    CAST('1.0' AS FLOAT64)
                  ),
                  0,
                  1
                ) AS FLOAT64) * CAST('5.0' AS FLOAT64)
              ),
              CAST('1.0' AS FLOAT64)
            ),
            0,
            1
          ),
          0
        ),
        19
      )
      ELSE -1
    END AS `age`,
    CASE
      WHEN `t1`.`missing income`
      THEN -1
      WHEN `t1`.`readable income` AND (
        `t1`.`value income` <= CAST('0.0' AS FLOAT64)
      )
      THEN 0
      WHEN `t1`.`readable income` AND (
        `t1`.`value income` >= CAST('1.0' AS FLOAT64)
      )
      THEN 99
      WHEN `t1`.`readable income`
      THEN LEAST(
        GREATEST(
          CAST(FLOOR(
            ieee_divide(
              (
                `t1`.`value income` * CAST('100.0' AS FLOAT64)
              ) - CAST('1.0' AS FLOAT64),
              CAST('1.0' AS FLOAT64)
            )
          ) AS INT64) + IF(
            `t1`.`value income` < ieee_divide(
              CAST('1.0' AS FLOAT64) + (
                CAST(CAST(FLOOR(
                  ieee_divide(
                    (
                      `t1`.`value income` * CAST('100.0' AS FLOAT64)
                    ) - CAST('1.0' AS FLOAT64),
                    CAST('1.0' AS FLOAT64)
                  )
                ) AS INT64) AS FLOAT64) * CAST('1.0' AS FLOAT64)
              ),
              CAST('100.0' AS FLOAT64)
            ),
            0,
            1
          ) + IF(
            `t1`.`value income` < ieee_divide(
              CAST('1.0' AS FLOAT64) + (
                CAST(CAST(FLOOR(
                  ieee_divide(
                    (
                      `t1`.`value income` * CAST('100.0' AS FLOAT64)
                    ) - CAST('1.0' AS FLOAT64),
                    CAST('1.0' AS FLOAT64)
                  )
                ) AS INT64) + IF(
                  `t1`.`value income` < ieee_divide(
                    CAST('1.0' AS FLOAT64) + (
                      CAST(CAST(FLOOR(
                        ieee_divide(
                          (
                            `t1`.`value income` * CAST('100.0' AS FLOAT64)
                          ) - CAST('1.0' AS FLOAT64),
                          CAST('1.0' AS FLOAT64)
                        )
                      ) AS INT64) AS FLOAT64) * CAST('1.0' AS FLOAT64)
                    ),
                    CAST('100.0' AS FLOAT64)
                  ),
                  0,
                  1
                ) AS FLOAT64) * CAST('1.0' AS FLOAT64)
              ),
              CAST('100.0' AS FLOAT64)
            ),
            0,
            1
          ),
          0
        ),
        99
      )
      ELSE -1
    END AS `income`
  FROM (
    SELECT
      `t0`.`who` AS `kept user`,
      `t0`.`income` AS `kept raw`,
      TRIM(`t0`.`job`, ' \t\n\r\v\f') AS `value job`,
      (
        TRIM(`t0`.`job`, ' \t\n\r\v\f') IS NULL
      )
      OR TRIM(`t0`.`job`, ' \t\n\r\v\f') IN ('') AS `missing job`,
      TRIM(`t0`.`job`, ' \t\n\r\v\f') IS NOT NULL AS `readable job`,
      CAST(`t0`.`age` AS FLOAT64) AS `value age`,
      (
        `t0`.`age` IS NULL
      ) OR FALSE AS `missing age`,
      (
        CAST(`t0`.`age` AS FLOAT64) - CAST(`t0`.`age` AS FLOAT64)
      ) = CAST('0.0' AS FLOAT64) AS `readable age`,
      `t0`.`income` AS `value income`,
      (
        `t0`.`income` IS NULL
      ) OR FALSE AS `missing income`,
      (
        `t0`.`income` - `t0`.`income`
      ) = CAST('0.0' AS FLOAT64) AS `readable income`
    FROM `people` AS `t0`
  ) AS `t1`
) AS `t2`

-- counts
SELECT
  `t1`.`key`,
  COUNT(*) AS `records`
FROM (
  SELECT
    (
      CAST(`t0`.`c0` AS INT64) * 20
    ) + `t0`.`c1` AS `key`
  FROM `codes` AS `t0`
) AS `t1`
GROUP BY
  1

-- lattice
SELECT
  `t1`.`k0`,
  COUNT(*) AS `records`
FROM (
  SELECT
    LEAST(
      CAST(FLOOR(
        ieee_divide(`t0`.`x2` - CAST('0.0' AS FLOAT64), CAST('1.0' AS FLOAT64)) * CAST('1073741824.0' AS FLOAT64)
      ) AS INT64),
      1073741823
    ) AS `k0`
  FROM `codes` AS `t0`
  WHERE
    `t0`.`x2` IS NOT NULL
) AS `t1`
GROUP BY
  1

"""Round numbers: bounds that say little about any one record.

A proposal that shows the exact smallest and largest value shows two records. Rounded outwards to a
public magnitude it shows hardly more than the units of measurement.
"""

from decimal import ROUND_FLOOR, Decimal


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """Bounds that contain low..high and end in zeros; zero itself where it is near.

    >>> round_outwards(17, 90), round_outwards(1998, 2021), round_outwards(0.0012, 0.0071)
    ((0.0, 100.0), (1990.0, 2030.0), (0.0, 0.008))
    """
    least, most = Decimal(repr(float(low))), Decimal(repr(float(high)))
    length = most - least or abs(most) or Decimal(1)
    step = Decimal(1).scaleb(length.adjusted())
    start = (least / step).to_integral_value(ROUND_FLOOR) * step
    end = ((most / step).to_integral_value(ROUND_FLOOR) + 1) * step
    if 0 <= least <= length:
        start = Decimal(0)
    if least < 0 and -length <= most <= 0:
        end = Decimal(0)
    return float(start), float(end)

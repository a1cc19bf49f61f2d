"""No password is ever shown, however it is spelt."""

from __future__ import annotations

import pytest

from penstock.engine import read
from penstock.errors import DataError, without_password

URLS = [
    "postgres://ann:hunter2@host/base",
    "postgresql+psycopg://ann:hunter2@host:5432/base?sslmode=require",
    "postgres://:hunter2@host/base",
    "postgres://ann:hun/ter2@host/base",
    "postgres://ann:a@hunter2@host/base",
    "postgres://ann:hunter2@@host/base",
    "postgres://ann:x:hunter2@host/base",
    "postgres://ann:hunter2?x@host/base",
    "postgres://ann:hunter2#x@host/base",
    "postgres://ann:%40hunter2%2F@host/base",
    "postgres://ann:two hunter2 words@host/base",
    "POSTGRES://ANN:hunter2@host",
    "postgres://host/base?user=ann&password=hunter2",
    "postgres://host/base?PASSWORD=hunter2&x=1",
    "postgres://host/base?sslpassword=hunter2",
    "mysql://host/base?passwd=hunter2",
    "mssql://host/base?pwd=hunter2;x=1",
    "mssql+pyodbc://?odbc_connect=DRIVER%3Dx%3BUID%3Dann%3BPWD%3Dhunter2%3BSERVER%3Dy",
    "mssql+pyodbc://?odbc_connect=DRIVER=x;PWD={a;hunter2};SERVER=y",
    "duckdb:///base?motherduck_token=hunter2",
    "snowflake://ann:hunter2@account/base?private_key_passphrase=hunter2",
    "bigquery://project?api_key=hunter2&access_token=hunter2",
    "s3://bucket?aws_secret_access_key=hunter2",
    "jdbc:postgresql://host/base?user=ann&password=hunter2",
    "postgres://host/base?pass%77ord=hunter2",
    "postgres://ann:two\nhunter2@host/base",
    "postgres:ann:hunter2@host/base",
    "postgres:/ann:hunter2@host/base",
    "oracle://ann/hunter2@host:1521/base",
]


@pytest.mark.parametrize("url", URLS)
def test_a_password_is_hidden_in_every_spelling(url: str) -> None:
    assert "hunter2" not in without_password(url)
    assert "hunter2" not in without_password(f"could not connect to '{url}' (timeout), see {url}.")
    with pytest.raises(DataError) as caught:
        read(url, table="people")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", [
    'connection to server failed: password=hunter2 host=x',
    "dsn: user=ann password='hunter2 and more' host=x",
    'PWD = "a hunter2"',
])  # fmt: skip
def test_a_password_in_the_words_of_a_driver_is_hidden(text: str) -> None:
    assert "hunter2" not in without_password(text)


@pytest.mark.parametrize("text", [
    "sqlite:///people.db",
    "postgres://ann@host:5432/base?sslmode=require",
    "age: value 'ann@example.org' in row 7 is not a number; the schema declares 0..100.",
    "people.csv: the file has a header and no records; ann@example.org knows.",
])  # fmt: skip
def test_what_is_no_password_stays(text: str) -> None:
    assert without_password(text) == text


@pytest.mark.parametrize("part", ["pass", "a:", "a:a@", "?a%41", "x", "a.", "oracle/", "key%3d"])
def test_no_text_takes_long_to_be_cleared_of_passwords(part: str) -> None:
    """What is tried for each letter is bounded: with nested repetitions, hours would pass."""
    assert len(without_password(part * (20_000 // len(part)))) <= 20_000


def test_a_password_longer_than_what_is_shown_is_hidden() -> None:
    assert "hunter2" not in without_password("postgres://ann:" + "hunter2" * 1000 + "@host")

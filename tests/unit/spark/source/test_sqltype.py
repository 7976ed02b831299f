"""Which of Spark's types bodies can be parsed to, and what is said of others."""

import pytest

from rockdove.spark.source.sqltype import BadType, check


@pytest.mark.parametrize(
    "text",
    [
        "STRUCT<a INT>",
        "struct<a: int, b: string not null comment 'it''s, > here', `c d`: Array<Map<String, Decimal(38, 38)>>>",
        "STRUCT<a DECIMAL, b DEC(5), c NUMERIC(5,2), d TIMESTAMP_NTZ>",
        "STRUCT< a STRUCT<a STRUCT<>>, A DOUBLE >",
        "STRUCT<map MAP<STRING, INT>, not BOOLEAN, größe INT, 1st INT, `a``b` INT, `a`:INT>",
        'STRUCT<a INT COMMENT "x">',
    ],
)
def test_what_bodies_can_be_parsed_to(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("a DECIMAL(50, 2)", r"DECIMAL\(50, 2\): a DECIMAL has 1 to 38 digits"),
        ("a DECIMAL(2, 5)", "1 to 38 digits"),
        ("a DECIMAL(1, 1, 1)", "1 to 38 digits"),
        ("a NOPE", "to the type NOPE"),
        ("a VARCHAR(10)", "to the type VARCHAR; say STRING"),
        ("a CHAR(10)", "to the type CHAR; say STRING"),
        ("a INTERVAL DAY", "to the type INTERVAL"),
        ("a INT, b STRING, a INT", "the field a is there twice"),
        ("a STRUCT<x INT, x INT>", "the field x is there twice"),
        ("a MAP<INT, STRING>", "the keys of a MAP are STRING, not INT"),
        ("a", "a type is missing before >"),
        ("a INT,", "the name of a field is missing before >"),
        ("a INT b INT", ", is missing before b"),
        ("a INT NOT", "NULL is missing before >"),
        ("a ARRAY<INT", ", is missing at its end|> is missing at its end"),
        ("a INT>, b INT", "> after its end|, after its end"),
    ],
)
def test_what_they_cannot(fields: str, said: str) -> None:
    with pytest.raises(BadType, match=said):
        check(f"STRUCT<{fields}>")

"""How long traces are kept, as the user says it."""

import pytest

from rockdove.trace.keep import Keep, KeepError, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", Keep(seconds=7 * 86_400)),
        ("36h", Keep(seconds=36 * 3_600)),
        ("90m", Keep(seconds=5_400)),
        ("45s", Keep(seconds=45)),
        ("10GB", Keep(bytes=10 * 10**9)),
        ("500KB", Keep(bytes=500_000)),
        ("7d,10GB", Keep(7 * 86_400, 10 * 10**9)),
        ("1TB, 2d", Keep(2 * 86_400, 10**12)),
        ("all", Keep()),
    ],
)
def test_a_rule(text: str, expected: Keep) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "-1d", "1.5GB", "7d,8d", "1GB,2GB", "7d|10GB", "10gb", "7d,all"])
def test_what_is_no_rule_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(KeepError, match="such as 7d, 10GB or 7d,10GB"):
        parse(text)

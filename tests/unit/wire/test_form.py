"""Percent-decoding as Python has it, for all that gets there."""

from urllib.parse import unquote_to_bytes

from hypothesis import example, given
from hypothesis import strategies as st

from rockdove.wire.form import unquote

pieces = st.one_of(st.sampled_from([b"%0A", b"%0d", b"%3D", b"%25", b"=", b"\r\n", b"\n", b" ", b"_"]), st.binary())


@given(st.lists(pieces).map(b"".join))
@example(b"a=\r\nb%3D%0A")
def test_as_the_standard_library_decodes(data: bytes) -> None:
    good = data.replace(b"%", b"%25") if _has_bad_escape(data) else data
    assert unquote(good) == unquote_to_bytes(good)


def _has_bad_escape(data: bytes) -> bool:
    letters = b"0123456789abcdefABCDEF"
    rest = data.split(b"%")[1:]
    return any(len(part) < 2 or part[0] not in letters or part[1] not in letters for part in rest)

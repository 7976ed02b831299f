"""Receipt handles: what is written can be read, by the right queue only, and nothing else can."""

from base64 import b64decode
from hashlib import blake2s

from hypothesis import given
from hypothesis import strategies as st

from rockdove.core.receipt import Receipt, Receipts

QUEUE, OTHER = b"queue-01", b"queue-02"
RECEIPTS = Receipts(b"k" * 32)


TIMES = st.integers(0, 2**63 - 1)


@given(st.integers(0, 2**63 - 1), TIMES, st.integers(0, 2**32 - 1))
def test_a_handle_names_what_it_was_made_for(id: int, received_us: int, count: int) -> None:
    handle = RECEIPTS.write(QUEUE, id, received_us, count)
    assert RECEIPTS.read(QUEUE, handle) == Receipt(id, received_us, count)
    assert RECEIPTS.read(OTHER, handle) is None
    assert Receipts(b"x" * 32).read(QUEUE, handle) is None


@given(st.integers(0, 55), st.sampled_from("ABCDEFGHabcdefgh0123-_"))
def test_a_handle_with_one_other_character_is_refused(at: int, letter: str) -> None:
    handle = RECEIPTS.write(QUEUE, 12345, 67890, 1)
    forged = handle[:at] + letter + handle[at + 1 :]
    assert forged == handle or RECEIPTS.read(QUEUE, forged) is None


@given(st.text())
def test_any_text_is_refused_without_a_fault(text: str) -> None:
    assert RECEIPTS.read(QUEUE, text) is None


def test_a_handle_ends_with_a_keyed_hash_of_the_rest() -> None:
    raw = b64decode(RECEIPTS.write(QUEUE, 12345, 67890, 1))
    assert raw[-13:] == blake2s(raw[:-13], key=b"k" * 32, digest_size=13).digest()

"""XML that any reader takes, whatever is in it."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.wire import query, shape, xml
from rockdove.wire.operation import OPERATIONS
from tests.unit.wire import oracle

any_text = st.text(st.characters())


def body_of(text: str) -> str:
    message = shape.Message(message_id="m", receipt_handle="h", md5_of_body="d", body=text)
    reply = query.encode(OPERATIONS["ReceiveMessage"], shape.ReceiveMessageResult(messages=[message]), "id")
    found = oracle.parse("query", "ReceiveMessage", reply)["Messages"][0]["Body"]
    assert isinstance(found, str)
    return found


@oracle.patient
@given(oracle.xml_text)
def test_bodies_come_back(text: str) -> None:
    assert body_of(text) == text


@pytest.mark.parametrize(
    "text", ["\r", "\r\n", "\n", "\t", " a ", "]]>", "<!--", "&amp;", "&#13;", '"', "'", "\x85\u2028", "🕊"]
)
def test_what_xml_readers_like_to_change(text: str) -> None:
    assert body_of(text) == text


@oracle.patient
@given(st.text(st.characters(categories=["Cc", "Cs", "Cn", "Lu"])))
def test_what_xml_cannot_carry_does_not_break_it(text: str) -> None:
    found = body_of(text)
    assert len(found) == len(text)
    assert all(a in (b, "\ufffd") for a, b in zip(found, text, strict=True))


def test_a_character_that_xml_cannot_carry() -> None:
    assert body_of("a\x00b\ud800c\uffff") == "a\ufffdb\ufffdc\ufffd"


@oracle.patient
@given(any_text)
def test_an_element_is_well_formed(text: str) -> None:
    root = ElementTree.fromstring(xml.element("a", xml.escape(text)).encode())
    assert root.tag == "a"
    assert len(root) == 0


@oracle.patient
@given(st.lists(oracle.xml_text))
def test_lists_of_texts_come_back(texts: list[str]) -> None:
    content = xml.members(shape.ListQueuesResult(queue_urls=texts))
    found = ElementTree.fromstring(f"<all>{content}</all>").findall("QueueUrl")
    assert [element.text or "" for element in found] == texts

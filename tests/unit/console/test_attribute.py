"""What the forms say of attributes is what the service takes."""

import pytest

from rockdove.console.attribute import DEAD_LETTER_QUEUE, GROUPS, MAX_RECEIVES, NAMES, Attribute
from rockdove.core import attribute as core
from rockdove.core.errors import Fault

FORM = [attribute for group in GROUPS for attribute in group.attributes]
NUMBERS = [attribute for attribute in FORM if attribute.high is not None and attribute.name != MAX_RECEIVES]
CHOICES = [attribute for attribute in FORM if attribute.choices]


def accepts(attribute: Attribute, value: str) -> bool:
    try:
        core.check({attribute.name: value}, fifo=attribute.only == "fifo")
    except Fault:
        return False
    return True


def name_of(attribute: Attribute) -> str:
    return attribute.name


@pytest.mark.parametrize("attribute", NUMBERS, ids=name_of)
def test_a_range_is_the_service_s(attribute: Attribute) -> None:
    assert attribute.low is not None
    assert attribute.high is not None
    assert accepts(attribute, str(attribute.low))
    assert accepts(attribute, str(attribute.high))
    assert not accepts(attribute, str(attribute.low - 1))
    assert not accepts(attribute, str(attribute.high + 1))
    assert all(accepts(attribute, word) for word in attribute.words)


@pytest.mark.parametrize("attribute", CHOICES, ids=name_of)
def test_choices_are_the_service_s(attribute: Attribute) -> None:
    assert all(accepts(attribute, choice) for choice, _ in attribute.choices)


@pytest.mark.parametrize("attribute", [each for each in FORM if each.long], ids=name_of)
def test_examples_of_json_can_be_taken_over(attribute: Attribute) -> None:
    assert "..." in attribute.example or accepts(attribute, attribute.example)


def test_defaults_are_the_service_s() -> None:
    for attribute in FORM:
        known = {**core._OWN_DEFAULTS, **core.effective({"KmsMasterKeyId": "x"}, fifo=attribute.only == "fifo")}
        if attribute.name in known and attribute.name not in ("KmsMasterKeyId", "SqsManagedSseEnabled"):
            assert attribute.default == known[attribute.name], attribute.name


def test_the_form_has_all_that_can_be_set() -> None:
    settable = {*core._SETTABLE, *core._FIFO_SETTABLE}
    assert settable - NAMES == {"RedrivePolicy"}
    assert NAMES - settable == {DEAD_LETTER_QUEUE, MAX_RECEIVES}


def test_everything_is_explained() -> None:
    assert all(attribute.help.endswith(".") and attribute.label for attribute in FORM)

"""What a service refuses, in words for users of Spark."""

import pytest

from rockdove.client import UnexpectedAnswer
from rockdove.core.errors import BatchTooOld, InvalidAttributeName, RockdoveError, UnknownOperation
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import find
from rockdove.spark.service.trouble import Refused, told


@pytest.mark.parametrize(
    "error",
    [InvalidAttributeName("Unknown Attribute X."), UnknownOperation(), UnexpectedAnswer("http://h", "with status 500")],
)
def test_a_service_that_is_not_the_one_that_was_told_names_the_option(error: RockdoveError) -> None:
    said, unsaid = (find(Options({"queue": "q", **more})) for more in ({"service": "rockdove"}, {}))
    with pytest.raises(Refused, match=r"does not answer as Rockdove does .* option service"), told(said):
        raise error
    with pytest.raises(type(error)), told(unsaid):
        raise error


def test_a_batch_that_nobody_remembers_is_told_in_the_services_words() -> None:
    place = find(Options({"queue": "q"}))
    with (
        pytest.raises(Refused, match=r"q.*: It was a week ago\. .*started again too late.*begin a new checkpoint"),
        told(place),
    ):
        raise BatchTooOld("It was a week ago.")

"""Expecting a fault, in the same words for both protocols."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError


@contextmanager
def refused(code: str, message: str | None = None, *, status: int = 400) -> Iterator[dict[str, Any]]:
    """What is done inside must be refused with this code, this status and, if given, exactly this text.

    A text that ends with "Reason:" may go on.

    Gives a dictionary that has the fault's members afterwards.
    """
    fault: dict[str, Any] = {}
    with pytest.raises(ClientError) as caught:
        yield fault
    response = caught.value.response
    fault |= response["Error"]
    assert (fault["Code"], response["ResponseMetadata"]["HTTPStatusCode"]) == (code, status), fault
    assert fault["Type"] == "Sender"
    if message is not None and message.endswith("Reason:"):
        assert fault["Message"].startswith(f"{message} ")
    elif message is not None:
        assert fault["Message"] == message

"""What is printed into a pipe, and whether somebody has read it."""

import io
import os
import select
import sys

import pytest

from rockdove.cli.failure import ReaderGone
from rockdove.cli.printer import Printer


@pytest.mark.parametrize("reads", [True, False])
def test_who_reads_and_goes_between_two_looks_has_read(monkeypatch: pytest.MonkeyPatch, reads: bool) -> None:
    reader, writer = os.pipe()

    class Poll:
        """The moment between the two looks."""

        def register(self, descriptor: int, events: int) -> None:
            assert descriptor == writer

        def poll(self, timeout: int) -> list[tuple[int, int]]:
            if reads:
                os.read(reader, 100)
            os.close(reader)
            return [(writer, select.POLLERR)]

    with io.FileIO(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(select, "poll", Poll)
        printing = Printer.__new__(Printer)
        printing.is_pipe = True
        os.write(writer, b"0\n")
        if reads:
            assert printing.is_read()
        else:
            with pytest.raises(ReaderGone):
                printing.is_read()

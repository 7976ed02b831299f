"""Where ``rockdove`` begins: signals are heeded before anything is imported that takes time."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        # Until the service has handlers of its own.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
        # There is nothing to read anew yet: what is read first is read after this.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from rockdove.cli.main import main

    main()


def _leave(number: int, frame: FrameType | None) -> None:
    """Nothing is open yet, and nobody is being served: that is a stop in good order."""
    os._exit(0)

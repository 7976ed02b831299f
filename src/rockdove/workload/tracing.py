"""Client traces of a workload: each of its processes records what it saw."""

from pathlib import Path
from types import TracebackType
from typing import Self

from rockdove.trace import CLIENT, Recorder
from rockdove.workload.journal import Sink


class Tracing:
    """Records while it is entered; nothing without a folder. Raises what a recorder raises that cannot begin."""

    def __init__(self, folder: str | None, node: str) -> None:
        self._recorder = None if folder is None else Recorder(Path(folder), node, CLIENT)

    @property
    def sink(self) -> Sink | None:
        return None if self._recorder is None else self._recorder.add

    @property
    def dropped(self) -> int:
        """Events that are in no file."""
        return 0 if self._recorder is None else self._recorder.dropped

    def __enter__(self) -> Self:
        if self._recorder is not None:
            self._recorder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recorder is not None:
            self._recorder.close()

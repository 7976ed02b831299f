"""Reads every message of a database that may be damaged, and passes over what cannot be read."""

from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from typing import Any

import apsw
import msgspec

from rockdove.core.digest import body_md5
from rockdove.core.message import Extra

_AT_ONCE = 500
_UPWARDS = "SELECT id FROM entry WHERE id > ? ORDER BY id LIMIT ?"
_DOWNWARDS = "SELECT id FROM entry WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?"
_BODY = "SELECT md5, body, extra FROM body WHERE id = ?"
# Past all ids.
_END = 1 << 62

Progress = Callable[[int], None]


class Scan:
    """Counts, once `run`. ``messages`` are those of the index, ``readable`` those whose body is as it was sent."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self.messages = 0
        self.readable = 0
        self._alone = 0
        self._changed = 0
        self._unreadable = 0
        self._orphans = 0
        self._lost: str | None = None

    def run(self, progress: Progress) -> None:
        for found in self._ids():
            self.messages += len(found)
            for id in found:
                self._read(id)
            progress(self.messages)
        try:
            self._orphans = self._db.execute("SELECT count(*) FROM body WHERE id NOT IN (SELECT id FROM entry)").get
        except apsw.Error as error:
            self._lost = self._lost or str(error)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Tables, and what is wrong with them."""
        if self._lost is not None:
            yield "entry", f"not all messages can be found: {self._lost}"
        for number, what in (
            (self._alone, "messages have no body"),
            (self._changed, "messages are not as they were sent: their body has another MD5 sum"),
            (self._unreadable, "messages cannot be read"),
            (self._orphans, "bodies belong to no message"),
        ):
            if number:
                yield "body", f"{number:,} {what}"

    def _ids(self) -> Iterator[list[int]]:
        """The ids in the index, upwards as far as they can be read, and then downwards to there."""
        low, high = -1, _END
        try:
            while found := self._some(_UPWARDS, low, _AT_ONCE):
                rising = list(takewhile(lambda pair: pair[0] < pair[1], pairwise([low, *found])))
                yield [id for _, id in rising]
                if len(rising) < len(found):
                    # To go on from any of them might never end.
                    self._lost = "its ids are out of order"
                    break
                low = found[-1]
            else:
                return
        except apsw.Error as error:
            self._lost = str(error)
        try:
            while found := self._some(_DOWNWARDS, low, high, _AT_ONCE):
                falling = list(takewhile(lambda pair: pair[0] > pair[1] > low, pairwise([high, *found])))
                yield [id for _, id in falling]
                if len(falling) < len(found):
                    return
                high = found[-1]
        except apsw.Error:
            return

    def _some(self, sql: str, *bounds: int) -> list[int]:
        return [id for (id,) in self._db.execute(sql, bounds)]

    def _read(self, id: int) -> None:
        try:
            row: Any = self._db.execute(_BODY, (id,)).fetchone()
            if row is None:
                self._alone += 1
                return
            md5, body, extra = row
            if extra is not None:
                msgspec.json.decode(extra, type=Extra)
            if body_md5(body.encode()) == md5:
                self.readable += 1
            else:
                self._changed += 1
        except (apsw.Error, ValueError, AttributeError, TypeError):
            self._unreadable += 1

"""What the processes of one service count together: memory that they share, with a row for each of them.

A process writes its own row only, and reads all: no locks. When one has died, its row is cleared before another takes
its place.
"""

import mmap
import os
import zlib

# Of each process: its id, its connections, the receives that wait in it, and the bytes that clients hold of it.
PROCESS, CONNECTIONS, WAITING, BUFFERED = range(4)
_NUMBERS = 8
# Connections by address: those of two addresses that share a place are counted together, which makes a difference only
# to somebody who has thousands.
_PLACES = 1 << 16
_NUMBER_BYTES, _PLACE_BYTES = 8, 4
_ROW_BYTES = _NUMBERS * _NUMBER_BYTES + _PLACES * _PLACE_BYTES


class Board:
    """Made before the processes are: they inherit it."""

    def __init__(self, rows: int = 1) -> None:
        memory = memoryview(mmap.mmap(-1, rows * _ROW_BYTES))
        parts = [memory[row * _ROW_BYTES : (row + 1) * _ROW_BYTES] for row in range(rows)]
        cut = _NUMBERS * _NUMBER_BYTES
        self._numbers = [part[:cut].cast("q") for part in parts]
        self._places = [part[cut:].cast("i") for part in parts]

    def seat(self, row: int = 0) -> "Seat":
        """For the process that the row belongs to."""
        self._numbers[row][PROCESS] = os.getpid()
        return Seat(self, row)

    def clear(self, row: int) -> None:
        """Its process has died."""
        for at in range(_NUMBERS):
            self._numbers[row][at] = 0
        self._places[row][:] = memoryview(bytes(_PLACES * _PLACE_BYTES)).cast("i")

    def processes(self) -> list[int]:
        return [row[PROCESS] for row in self._numbers if row[PROCESS]]

    def value(self, row: int, column: int) -> int:
        return self._numbers[row][column]

    def add(self, row: int, column: int, number: int) -> None:
        self._numbers[row][column] += number

    def total(self, column: int) -> int:
        return sum([row[column] for row in self._numbers])

    def others(self, row: int, column: int) -> list[int]:
        """Of all other processes that listen."""
        return [
            each[column] for at, each in enumerate(self._numbers) if at != row and each[PROCESS] and each[_NUMBERS - 1]
        ]

    def listen(self, row: int) -> None:
        """The process accepts connections."""
        self._numbers[row][_NUMBERS - 1] = 1

    def add_place(self, row: int, place: int, number: int) -> None:
        self._places[row][place] += number

    def total_place(self, place: int) -> int:
        return sum([row[place] for row in self._places])


class SharedCount:
    """One number of this process, and the sum over all."""

    def __init__(self, board: Board, row: int, column: int) -> None:
        self._board = board
        self._row = row
        self._column = column

    @property
    def own(self) -> int:
        return self._board.value(self._row, self._column)

    def add(self, number: int) -> None:
        self._board.add(self._row, self._column, number)

    def total(self) -> int:
        return self._board.total(self._column)


class Seat:
    """One process's row."""

    def __init__(self, board: Board, row: int) -> None:
        self._board = board
        self._row = row
        self.connections = SharedCount(board, row, CONNECTIONS)
        self.waiting = SharedCount(board, row, WAITING)
        self.buffered = SharedCount(board, row, BUFFERED)

    @property
    def processes(self) -> list[int]:
        """The ids of all processes of the service."""
        return self._board.processes()

    @property
    def size(self) -> int:
        """How many processes serve clients, this one included."""
        return len(self._board.others(self._row, PROCESS)) + 1

    def listen(self) -> None:
        self._board.listen(self._row)

    def has_more_than_its_share(self) -> bool:
        """Whether another process has clearly fewer connections, and should take the next."""
        others = self._board.others(self._row, CONNECTIONS)
        if not others:
            return False
        least = min(others)
        return self.connections.own > least + least // 8

    def came(self, address: str) -> None:
        self.connections.add(1)
        self._board.add_place(self._row, _place(address), 1)

    def left(self, address: str) -> None:
        self.connections.add(-1)
        self._board.add_place(self._row, _place(address), -1)

    def of_address(self, address: str) -> int:
        """Connections from an address, to any process."""
        return self._board.total_place(_place(address))


def _place(address: str) -> int:
    return zlib.crc32(address.encode()) % _PLACES

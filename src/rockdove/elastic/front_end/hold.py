"""Becomes another program that holds a lock on a report file, so that others find it, and see that it lives.

python -m rockdove.elastic.front_end.hold REPORT NUMBER PROGRAM WORD...
"""

import os
import sys
import time
from pathlib import Path

from rockdove.elastic.worker.report import Report, ReportFile, Taken

# Where the program's standard output goes, beside its report.
OUTPUT = ".out"


def command(report: Path, number: int, words: list[str]) -> list[str]:
    return [sys.executable, "-m", __spec__.name, str(report), str(number), *words]


def main(words: list[str]) -> None:
    report, number, program = Path(words[0]), int(words[1]), words[2:]
    try:
        file = ReportFile(report)
    except Taken as error:
        raise SystemExit(str(error)) from None
    # Before anybody can take what was printed by the one before for this one's.
    output = os.open(report.with_suffix(OUTPUT), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    file.write(Report(pid=os.getpid(), physical=number, started_s=time.time()))
    file.hand_on()
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])

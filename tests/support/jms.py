"""The program of tests/jms, which speaks JMS, run for one scenario."""

import os
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.support.environment import isolated
from tests.support.process import Process

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".setup" / "jms"
# A JVM that lives for a second: less compiling, one thread for the garbage.
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_TIMEOUT_S = 120

Report = Mapping[str, list[str]]


class Scenario:
    """Starts it; `report` waits for its end and gives what it printed: the values of each name, in order."""

    def __init__(self, folder: Path, name: str, endpoint: str, queue: str, environment: Mapping[str, str]) -> None:
        java = shutil.which("java")
        assert java is not None, "no java: `make test-jms` installs it, or names the command"
        assert (BUILT / "classes").is_dir(), "no program: `make test-jms` builds it"
        classpath = os.pathsep.join([str(BUILT / "classes"), str(BUILT / "lib" / "*")])
        command = [java, *_SHORT_LIVED, "-cp", classpath, "rockdove.jms.Main", endpoint, name, queue]
        self._process = Process(command, folder, name, environment={**isolated(), **environment})

    def wait_for(self, line: str) -> None:
        self._process.wait_for(lambda: line in self._process.out.read_text().splitlines(), line, _TIMEOUT_S)

    def report(self) -> Report:
        self._process.wait_for(lambda: self._process.exit_code is not None, "its end", _TIMEOUT_S)
        assert self._process.exit_code == 0, self._process.output()
        values = defaultdict(list)
        for line in self._process.out.read_text().splitlines():
            name, _, value = line.partition("=")
            values[name].append(value)
        return dict(values)

    def close(self) -> None:
        if self._process.exit_code is None:
            self._process.kill()

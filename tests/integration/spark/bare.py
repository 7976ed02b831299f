"""Pythons and environments of machines that know nothing of this repository."""

import os
import re
import subprocess
import sysconfig
import venv
from pathlib import Path

from tests.integration.spark.quick import LIGHT, archived


def python_without_rockdove(home: Path) -> Path:
    """A Python with our packages, but without Rockdove: what an editable installation adds is not looked at there."""
    venv.create(home, with_pip=False, symlinks=True)
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    program = home / "bin" / "python"
    look = [str(program), "-c", "import numba, pyarrow, importlib.util; print(importlib.util.find_spec('rockdove'))"]
    done = subprocess.run(look, capture_output=True, text=True, check=True, env=clean_environment(), cwd=home)
    assert done.stdout == "None\n"
    return program


def clean_environment() -> dict[str, str]:
    ours = re.compile("PYTHON|PYSPARK|SPARK|ROCKDOVE|VIRTUAL_ENV|COV")
    return {name: value for name, value in os.environ.items() if not ours.match(name)} | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_DAEMON_JAVA_OPTS": f"{LIGHT} {archived()}",
    }

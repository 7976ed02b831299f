"""scripts/licences.py: the page fits what is installed, and every licence fits where its package is used."""

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "licences.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_page_is_right_and_every_licence_fits() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_serving_needs_is_known(script: dict[str, Any]) -> None:
    served = script["serving"]()
    assert {"apsw", "uvloop", "cffi"} <= served
    assert served <= set(script["pins"]())
    assert not served & {"pytest", "boto3"}


@pytest.mark.parametrize(
    ("expression", "serving", "beside"),
    [
        ("MIT", True, True),
        ("MPL-2.0", False, True),
        ("GPL-3.0-only", False, False),
        ("unknown", False, False),
        ("LGPL-2.1-only OR MIT", True, True),
        ("(Apache-2.0 AND MIT) OR GPL-2.0-only", True, True),
        ("MIT AND GPL-2.0-only", False, False),
        ("Apache-2.0 AND CNRI-Python", False, True),
    ],
)
def test_what_fits(script: dict[str, Any], expression: str, serving: bool, beside: bool) -> None:
    assert script["fits"](expression, script["PERMISSIVE"]) is serving
    assert script["fits"](expression, script["BESIDE"]) is beside

"""Builds a wheel with what the console draws charts with, which is not in git."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Set to 1, for a release: rather no wheel than one without charts.
REQUIRED = "ROCKDOVE_CHARTS"


class CustomBuildHook(BuildHookInterface[Any]):
    """Run by hatchling before a wheel is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation is of a checkout, where `make` fetches it."""
        uplot = _load(Path(self.root) / "scripts" / "uplot.py")
        if version == "editable" or uplot.is_there():
            return
        try:
            uplot.fetch()
        except uplot.FetchError as error:
            text = f"the console is built without charts: they need uPlot, and {error}"
            if os.environ.get(REQUIRED) == "1":
                sys.exit(f"rockdove: {text}")
            self.app.display_warning(text)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("uplot", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""The files of deploy/kubernetes, and what a Role in them grants."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"


class Right(NamedTuple):
    """``name``: of the one object that it is for; None: all."""

    verb: str
    group: str
    resource: str
    name: str | None


def documents(file: str) -> list[Any]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def document(file: str, kind: str) -> Any:
    (found,) = (each for each in documents(file) if each["kind"] == kind)
    return found


def rights(role: Any) -> Iterator[Right]:
    """Each single thing that a Role grants."""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [None]):
                    for verb in rule["verbs"]:
                        yield Right(verb, group, resource, name)

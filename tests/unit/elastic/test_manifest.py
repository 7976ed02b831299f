"""The files of deploy/kubernetes: they fit together, and with our commands."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from typer.main import get_command

from rockdove.cli.main import app
from rockdove.core.elastic import read
from rockdove.elastic.worker.report import Report
from tests.support.manifest import FOLDER, document, documents

FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
# Those that have workers: with the kind of what is scaled.
WORKERS = [("workers.yaml", "StatefulSet"), ("workers-deployment.yaml", "Deployment")]


def container(found: Any) -> Any:
    (only,) = found["spec"]["template"]["spec"]["containers"]
    return only


def flags(command: str, words: Sequence[str]) -> dict[str, Any]:
    """As our command reads them; wrong ones are refused."""
    commands: Any = get_command(app)
    return dict(commands.commands[command].make_context(command, list(words)).params)


@pytest.mark.parametrize("file", FILES)
def test_each_is_whole(file: str) -> None:
    found = documents(file)
    assert found
    for each in found:
        assert each["apiVersion"]
        assert each["kind"]
        assert each["metadata"]["name"]
        # Where it is applied is for whoever applies it.
        assert "namespace" not in each["metadata"]
        if "template" in each.get("spec", {}):
            assert container(each)["image"] == "rockdove"
            labels = each["spec"]["template"].get("metadata", {}).get("labels")
            assert each["spec"].get("selector", {"matchLabels": labels})["matchLabels"] == labels


def test_the_controller_has_the_role() -> None:
    account = document("rbac.yaml", "ServiceAccount")["metadata"]["name"]
    binding = document("rbac.yaml", "RoleBinding")
    assert binding["roleRef"]["name"] == document("rbac.yaml", "Role")["metadata"]["name"]
    assert [each["name"] for each in binding["subjects"]] == [account]
    controller = document("controller.yaml", "Deployment")
    assert controller["spec"]["template"]["spec"]["serviceAccountName"] == account
    # Instead of the one of the StatefulSet, and bound by the same.
    other = document("workers-deployment.yaml", "Role")
    assert other["metadata"]["name"] == binding["roleRef"]["name"]


@pytest.mark.parametrize(("file", "kind"), WORKERS)
def test_the_role_is_for_the_workers(file: str, kind: str) -> None:
    name = document(file, kind)["metadata"]["name"]
    role = document("rbac.yaml" if kind == "StatefulSet" else file, "Role")
    scale, pods = role["rules"]
    assert scale["resources"] == [f"{kind.lower()}s/scale"]
    assert scale["resourceNames"] == [name]
    assert pods == {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


def test_the_controller_is_told_what_to_scale() -> None:
    found = container(document("controller.yaml", "Deployment"))
    command, *words = found["args"]
    given = flags(command, words)
    assert given["provisioner"] == "kubernetes"
    assert given["workload"] == f"statefulset/{document('workers.yaml', 'StatefulSet')['metadata']['name']}"
    assert read(given["elastic"]).max_workers > 1
    # The workers are those of the same queue.
    assert given["queue"] == container(document("workers.yaml", "StatefulSet"))["args"][1]


@pytest.mark.parametrize(("file", "kind"), WORKERS)
def test_workers_start_and_end_well(file: str, kind: str) -> None:
    found = document(file, kind)
    spec = found["spec"]
    assert "replicas" not in spec
    only = container(found)
    command, *words = (word.replace("$(ORDINAL)", "7") for word in only["args"])
    given = flags(command, words)
    assert given["physical"] == (7 if kind == "StatefulSet" else None)
    assert given["grace"] < spec["template"]["spec"]["terminationGracePeriodSeconds"]
    # What says that one is ready.
    program, quiet, text, path = only["readinessProbe"]["exec"]["command"]
    assert (program, quiet, path) == ("grep", "-q", str(given["report"]))
    assert text in msgspec.json.encode(Report(pid=1, physical=None, started_s=0, is_ready=True)).decode()
    if kind == "StatefulSet":
        assert spec["podManagementPolicy"] == "Parallel"
        (ordinal,) = (each for each in only["env"] if each["name"] == "ORDINAL")
        assert ordinal["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['apps.kubernetes.io/pod-index']"

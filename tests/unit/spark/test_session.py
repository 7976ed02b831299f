"""How Spark's JVM is started: with the archive of its classes, if there is one for this Java and this Spark."""

from pathlib import Path

import pytest

from rockdove.spark import session
from rockdove.spark.session import archive, archive_options


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return program


def options(local: bool = True, **settings: str) -> list[str]:
    return session._java_options(local, False, settings).get("spark.driver.extraJavaOptions", "").split()


def test_an_archive_is_used_only_if_it_is_there(java: Path) -> None:
    assert not [option for option in options() if "SharedArchiveFile" in option]
    archive().parent.mkdir(parents=True)
    archive().touch()
    assert set(archive_options(archive())) <= set(options())
    assert f"-XX:SharedArchiveFile={archive()}" in options()


def test_executors_elsewhere_have_other_files(java: Path) -> None:
    archive().parent.mkdir(parents=True)
    archive().touch()
    assert not [option for option in options(local=False) if "SharedArchiveFile" in option]


def test_another_java_needs_another_archive(java: Path) -> None:
    before = archive()
    java.write_text("another")
    assert archive() != before
    assert archive().parent == before.parent


def test_the_cache_is_in_the_home_folder_unless_told_otherwise(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert archive().parent == tmp_path / ".cache" / "rockdove"

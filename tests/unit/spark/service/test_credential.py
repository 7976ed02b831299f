"""Credentials come from options, a profile or the environment, and are in no text."""

import pickle
from pathlib import Path

import pytest

from rockdove.client import Credentials
from rockdove.spark.service import place
from rockdove.spark.service.credential import find
from rockdove.spark.service.option import BadOption, Options

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "of-environment", "AWS_SECRET_ACCESS_KEY": "es"}


@pytest.fixture
def profiles(tmp_path: Path) -> dict[str, str]:
    """An environment with a file of profiles."""
    path = tmp_path / "credentials"
    path.write_text("[work]\naws_access_key_id = of-profile\naws_secret_access_key = p%s\n[empty]\nregion = x\n")
    return {"AWS_SHARED_CREDENTIALS_FILE": str(path)}


def test_options_come_first() -> None:
    options = Options({"accessKey": "mine", "secretKey": "s", "sessionToken": "t"})
    assert find(options, ENVIRONMENT) == Credentials("mine", "s", "t")


def test_then_a_profile_that_was_asked_for(profiles: dict[str, str]) -> None:
    assert find(Options({"profile": "work"}), ENVIRONMENT | profiles) == Credentials("of-profile", "p%s")


def test_then_the_environment(profiles: dict[str, str]) -> None:
    assert find(Options({}), ENVIRONMENT | profiles | {"AWS_PROFILE": "work"}) == Credentials("of-environment", "es")
    assert find(Options({}), profiles | {"AWS_PROFILE": "work"}) == Credentials("of-profile", "p%s")


def test_without_any_requests_go_unsigned() -> None:
    assert find(Options({}), {}) is None


@pytest.mark.parametrize("profile", ["empty", "none"])
def test_a_profile_without_keys_is_named(profile: str, profiles: dict[str, str]) -> None:
    with pytest.raises(BadOption, match=f"option profile: .* named '{profile}'"):
        find(Options({"profile": profile}), profiles)


@pytest.mark.parametrize(("there", "missing"), [("accessKey", "secretKey"), ("secretKey", "accessKey")])
def test_half_a_pair_is_an_error_that_shows_no_key(there: str, missing: str) -> None:
    with pytest.raises(BadOption, match=f"option {missing} is missing") as caught:
        find(Options({there: "hush"}), {})
    assert "hush" not in str(caught.value)


def test_a_token_alone_is_an_error() -> None:
    for more in ({}, {"profile": "work"}):
        with pytest.raises(BadOption, match="option accessKey is missing: sessionToken") as caught:
            find(Options({"sessionToken": "hush", **more}), ENVIRONMENT)
        assert "hush" not in str(caught.value)


def test_keys_and_a_profile_exclude_each_other() -> None:
    with pytest.raises(BadOption, match="option profile and the option accessKey"):
        find(Options({"accessKey": "a", "secretKey": "s", "profile": "work"}), {})


def test_a_place_goes_to_executors_with_its_credentials_and_shows_none() -> None:
    found = place.find(Options({"queue": "jobs", "accessKey": "a", "secretKey": "hush", "sessionToken": "hush"}))
    assert pickle.loads(pickle.dumps(found)).credentials == Credentials("a", "hush", "hush")
    assert "hush" not in f"{found!r}{found}"


def test_a_file_that_was_asked_for(tmp_path: Path, profiles: dict[str, str]) -> None:
    path = tmp_path / "mounted"
    path.write_text("[default]\naws_access_key_id = of-file\naws_secret_access_key = f\n")
    assert find(Options({"credentialsFile": str(path)}), ENVIRONMENT | profiles) == Credentials("of-file", "f")
    chosen = Options({"credentialsFile": profiles["AWS_SHARED_CREDENTIALS_FILE"], "profile": "work"})
    assert find(chosen, ENVIRONMENT) == Credentials("of-profile", "p%s")
    with pytest.raises(BadOption, match="option credentialsFile: /nowhere cannot be read: No such file"):
        find(Options({"credentialsFile": "/nowhere"}), ENVIRONMENT)
    with pytest.raises(BadOption, match="credentialsFile and the option accessKey exclude each other"):
        find(Options({"credentialsFile": "/x", "accessKey": "k", "secretKey": "s"}), {})


def test_keys_in_options_are_warned_of_on_spark_connect(capsys: pytest.CaptureFixture[str]) -> None:
    keys = Options({"accessKey": "mine", "secretKey": "hush"})
    find(keys, {"SPARK_JOB_ARTIFACT_UUID": "default"})
    assert capsys.readouterr().err == ""
    find(keys, {"SPARK_JOB_ARTIFACT_UUID": "6c460a53-926b-45ef-9cee-c28c89ef24cb"})
    said = capsys.readouterr().err
    assert "Spark Connect shows the options" in said
    assert "hush" not in said

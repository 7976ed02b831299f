"""Who asks: credentials from options, from a profile or from the environment, in this order."""

import configparser
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rockdove.client import Credentials
from rockdove.spark.service.option import BadOption, Options

# Spark hides the values of options with such names in plans and logs.
ACCESS_KEY: Final = "accessKey"
SECRET_KEY: Final = "secretKey"
SESSION_TOKEN: Final = "sessionToken"
PROFILE: Final = "profile"
FILE: Final = "credentialsFile"
NAMES: Final = (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, PROFILE, FILE)
# Spark Connect gives the files of each session a number; other sessions share this one.
_ARTIFACTS: Final = ("SPARK_JOB_ARTIFACT_UUID", "default")


def find(options: Options, environment: Mapping[str, str] = os.environ) -> Credentials | None:
    """None: requests go unsigned. Raises `BadOption`."""
    if (given := _given(options)) is not None:
        _warn(environment)
        return given
    profile, file = options.text(PROFILE), options.text(FILE)
    if profile is not None or file is not None:
        return _of_profile(profile or environment.get("AWS_PROFILE") or "default", file, environment)
    profile = environment.get("AWS_PROFILE")
    if profile and "AWS_ACCESS_KEY_ID" not in environment:
        return _of_profile(profile, None, environment)
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    return Credentials(key, secret, environment.get("AWS_SESSION_TOKEN") or None) if key and secret else None


def _given(options: Options) -> Credentials | None:
    key, secret = options.text(ACCESS_KEY), options.text(SECRET_KEY)
    if (key is None) != (secret is None):
        missing, there = (ACCESS_KEY, SECRET_KEY) if key is None else (SECRET_KEY, ACCESS_KEY)
        raise BadOption(f"the option {missing} is missing: {there} alone signs nothing")
    if key is None or secret is None:
        if options.text(SESSION_TOKEN) is not None:
            raise BadOption(f"the option {ACCESS_KEY} is missing: {SESSION_TOKEN} alone signs nothing")
        return None
    for other in (PROFILE, FILE):
        if options.text(other) is not None:
            raise BadOption(f"the option {other} and the option {ACCESS_KEY} exclude each other")
    return Credentials(key, secret, options.text(SESSION_TOKEN))


def _warn(environment: Mapping[str, str]) -> None:
    """Spark hides keys in plans and on its pages, but Spark Connect does not."""
    name, shared = _ARTIFACTS
    if environment.get(name, shared) != shared:
        print(  # noqa: T201
            f"rockdove: Spark Connect shows the options {ACCESS_KEY} and {SECRET_KEY} on its page and in its log. "
            f"Use the option {PROFILE} or {FILE}, or the server's environment, instead",
            file=sys.stderr,
        )


def _of_profile(profile: str, file: str | None, environment: Mapping[str, str]) -> Credentials:
    path = Path(file or environment.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials")
    # What is no profile in this file is not ours to judge, and a secret may hold a percent sign.
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    named = FILE if file else PROFILE
    try:
        parser.read_string(path.read_text("utf-8"))
        section = parser[profile]
        key, secret = section["aws_access_key_id"], section["aws_secret_access_key"]
    except OSError as error:
        raise BadOption(f"the option {named}: {path} cannot be read: {error.strerror}") from None
    except (KeyError, UnicodeDecodeError, configparser.Error):
        # Without the cause: it may quote the file.
        raise BadOption(f"the option {named}: {path} has no keys for a profile named {profile!r}") from None
    return Credentials(key, secret, section.get("aws_session_token") or None)

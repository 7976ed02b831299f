"""Who asks: credentials from options, from a profile or from the environment, in this order."""

import configparser
import os
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
NAMES: Final = (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN, PROFILE)


def find(options: Options, environment: Mapping[str, str] = os.environ) -> Credentials | None:
    """None: requests go unsigned. Raises `BadOption`."""
    if (given := _given(options)) is not None:
        return given
    profile = options.text(PROFILE) or environment.get("AWS_PROFILE")
    if profile is not None and (options.text(PROFILE) or "AWS_ACCESS_KEY_ID" not in environment):
        return _of_profile(profile, environment)
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
    if options.text(PROFILE) is not None:
        raise BadOption(f"the option {PROFILE} and the option {ACCESS_KEY} exclude each other")
    return Credentials(key, secret, options.text(SESSION_TOKEN))


def _of_profile(profile: str, environment: Mapping[str, str]) -> Credentials:
    path = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials")
    # What is no profile in this file is not ours to judge, and a secret may hold a percent sign.
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, encoding="utf-8")
        section = parser[profile]
        key, secret = section["aws_access_key_id"], section["aws_secret_access_key"]
    except (KeyError, OSError, UnicodeDecodeError, configparser.Error):
        # Without the cause: it may quote the file.
        raise BadOption(f"the option {PROFILE}: {path} has no keys for a profile named {profile!r}") from None
    return Credentials(key, secret, section.get("aws_session_token") or None)

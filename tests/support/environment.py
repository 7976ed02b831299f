"""The environment that clients and servers get in tests: nothing of the machine's own AWS or Rockdove settings."""

import os
from collections.abc import Mapping

REGION = "us-east-1"
ACCESS_KEY = "test-key"
SECRET_KEY = "test-secret"

AWS_SETTINGS: dict[str, str] = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    # Files that do not exist would do; os.devnull says that it is meant.
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    # Everything in the tests is on this machine; a proxy of the machine's must not come between.
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}

_FOREIGN_PREFIXES = ("AWS_", "ROCKDOVE_")
# The size of the terminal of who runs the tests; pytest's workers have them too.
_FOREIGN_NAMES = ("COLUMNS", "LINES")


def foreign_names(environment: Mapping[str, str]) -> list[str]:
    """The variables that would change what a client or a server does."""
    return [name for name in environment if name.startswith(_FOREIGN_PREFIXES) or name in _FOREIGN_NAMES]


def isolated() -> dict[str, str]:
    """A full environment for a subprocess."""
    foreign = foreign_names(os.environ)
    return {name: value for name, value in os.environ.items() if name not in foreign} | AWS_SETTINGS

"""Patterns as policies have them: ``*`` stands for any text, ``?`` for one character, everything else for itself."""

import re
from fnmatch import translate

WILD = frozenset("*?")


def glob(pattern: str) -> re.Pattern[str]:
    """For `re.Pattern.match`. However many stars there are, matching does not go back and forth between them."""
    return re.compile(translate(pattern.replace("[", "[[]")))

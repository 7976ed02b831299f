"""Whether something printed what a page shows: `...` stands for anything, what differs at each run does not count."""

import re

# Message and request ids, times, receipt handles, durations of a moment.
_DIFFERS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "(id)"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "(time)"),
    (re.compile(r"(?<![\w+/.-])(?!/)[\w+/]{56}(?![\w+/-])"), "(handle)"),
    (re.compile(r"\bin \d\.\d s\b"), "in (time)"),
)
# A gap that is the first or the last line may be nothing at all: a bar of progress is not always shown.
_GAP = re.compile(r"(\A\.\.\.\n|\n\.\.\.\Z|\.\.\.)")
_GAPS = {"...\n": r"(?:.*?\n)?", "\n...": r"(?:\n.*)?", "...": ".*?"}


def plain(text: str) -> str:
    for pattern, word in _DIFFERS:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def pattern(shown: str) -> re.Pattern[str]:
    parts = [_GAPS.get(part) or re.escape(part) for part in _GAP.split(plain(shown))]
    return re.compile("".join(parts), re.DOTALL)


def is_as_shown(printed: str, shown: str) -> bool:
    return pattern(shown).fullmatch(plain(printed)) is not None

"""Pages of the documentation, their code blocks and their links.

A comment right before a block says what a test does with it:

    <!-- run: background NAME -->   start it, as in a terminal of its own, and go on when its output is as shown;
                                    what ran in that terminal before is ended first
    <!-- run: seen NAME -->         wait until that terminal shows it
    <!-- run: file NAME -->         write it to a file
    <!-- run: end NAME -->          stands alone: end what runs in that terminal
    <!-- prints -->                 what the block before it prints
    <!-- not run: REASON -->        nothing

Without one, `console`, `sh` and `python` blocks are run, `text` and `mermaid` blocks are pictures, and others are an
error.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ("text", "mermaid")
RUNNABLE = ("console", "sh", "python")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = re.compile(r"^<!-- (run: end \w+) -->$", re.MULTILINE)
_WORD = re.compile(r"<!-- ((?:(?!-->).)+) -->\n\Z", re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the word before it (empty if none), and the line at which it begins."""

    place: str
    language: str
    word: str
    text: str

    @property
    def is_run(self) -> bool:
        if self.word:
            return self.word == "prints" or self.word.startswith("run: ")
        return self.language in RUNNABLE


@dataclass(frozen=True)
class Page:
    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text()

    def blocks(self) -> list[Block]:
        text = self.text
        found = []
        for match in _FENCE.finditer(text):
            word = _WORD.search(text, 0, match.start())
            said = " ".join(word[1].split()) if word else ""
            found.append((match.start(), Block(self._place(match.start()), match[1], said, match[2])))
        for match in _END.finditer(text):
            found.append((match.start(), Block(self._place(match.start()), "", match[1], "")))
        return [block for _, block in sorted(found, key=lambda each: each[0])]

    def _place(self, offset: int) -> str:
        return f"{self.name}:{self.text.count(chr(10), 0, offset) + 1}"

    def prose(self) -> str:
        """The page without its code blocks."""
        return _FENCE.sub("", self.text)

    def links(self) -> list[str]:
        return _LINK.findall(re.sub(r"`[^`\n]*`", "", self.prose()))

    def anchors(self) -> set[str]:
        """The names that headings have as targets of links, as GitHub makes them."""
        found: set[str] = set()
        for heading in _HEADING.findall(self.prose()):
            slug = _slug(heading)
            number = 0
            while (name := f"{slug}-{number}" if number else slug) in found:
                number += 1
            found.add(name)
        return found

    def section(self, heading: str) -> str:
        """What stands under a heading, up to the next one of its rank or above. Empty if there is none."""
        match = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", self.text, re.MULTILINE | re.DOTALL)
        return match[2] if match else ""


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def pages() -> list[Page]:
    """All pages that people read."""
    top = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [Page(path) for path in [*top, *sorted((ROOT / "docs").rglob("*.md"))]]


def page(name: str) -> Page:
    return Page(ROOT / name)

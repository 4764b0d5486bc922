"""Prompts as Markdown files: one section a prompt, one file a language, blanks checked when they are read.

    # Anything before the first section is for the reader of the file.

    ## doctor

    You are the doctor of {department}. ...

Where a full line ends inside a sentence the next goes on in it: a model gets whole sentences, however long.
`read_prompts(path)` makes `path` (`name.md`) English and `name.zh.md` Chinese; both must have the same sections with
the same blanks, so that a prompt that is missing in a language is found when the program starts and not in a run.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from string import Formatter

from polyclinic.errors import PolyclinicError

_SECTION = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_LEADS_ON = re.compile(r"[^\s.:?!。：？！；…|>*#-]$")
_GOES_ON = re.compile(r"^(?!\s*(?:[-*#|>=]|\d+[.)]\s|\{[a-z_]+\}\s*$)) *\S")
_FULL = 110  # columns from which on a line of a file was full, with the word that did not fit; a Chinese letter has two


class BrokenPrompt(PolyclinicError):
    """A prompt file lacks a section or a blank, or has one too many; a mistake in the package, not the user's."""


class Prompts:
    """The prompts of one file in one language: `prompts("doctor", department="...")`."""

    def __init__(self, path: Path) -> None:
        parts = _SECTION.split(path.read_text("utf-8"))
        self._path = path
        self._texts = {name: unwrapped(text.strip()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
        self.blanks = {
            name: frozenset(blank for _, blank, _, _ in Formatter().parse(text) if blank is not None)
            for name, text in self._texts.items()
        }

    def __call__(self, section: str, **blanks: object) -> str:
        """Returns a prompt with its blanks filled in: with all that it has, and no others."""
        if section not in self._texts:
            raise BrokenPrompt(f"{self._path.name}: no section {section!r}; there are: {', '.join(self._texts)}")
        if set(blanks) != self.blanks[section]:
            wanted = ", ".join(sorted(self.blanks[section])) or "none"
            raise BrokenPrompt(
                f"{self._path.name}, {section}: the blanks are {wanted}; got {', '.join(blanks) or 'none'}"
            )
        return self._texts[section].format(**blanks)


def unwrapped(text: str) -> str:
    """Returns a text in which no line ends inside a sentence; a line that was not full ended on purpose."""
    lines: list[str] = []
    last = ""
    for line in text.split("\n"):
        full = _columns(last) + 1 + _columns(line.split(maxsplit=1)[0]) > _FULL if line.strip() else False
        if full and _LEADS_ON.search(last) and _GOES_ON.match(line):
            beginning = line.lstrip()
            lines[-1] += f"{'' if _wide(last[-1]) or _wide(beginning[0]) else ' '}{beginning}"
        else:
            lines.append(line)
        last = line
    return "\n".join(lines)


def _columns(text: str) -> int:
    return len(text) + sum(ord(letter) > 0x2E80 for letter in text)


def _wide(letter: str) -> bool:
    return ord(letter) > 0x2E80 or letter in "“”‘’"


@functools.cache
def read_prompts(path: Path) -> dict[str, Prompts]:
    """Returns the prompts of a file by language; of `name.md`, and of the Chinese `name.zh.md` beside it."""
    english, chinese = Prompts(path), Prompts(path.with_suffix(".zh.md"))
    if english.blanks != chinese.blanks:
        differing = {
            n for n in english.blanks.keys() | chinese.blanks.keys() if english.blanks.get(n) != chinese.blanks.get(n)
        }
        raise BrokenPrompt(f"{path.name} and {path.stem}.zh.md differ in: {', '.join(sorted(differing))}")
    return {"en": english, "zh": chinese}

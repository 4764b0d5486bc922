"""Prompts as Markdown files: one section a prompt, one file a language, blanks checked when they are read.

    # Anything before the first section is for the reader of the file.

    ## doctor

    You are the doctor of {department}. ...

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


class BrokenPrompt(PolyclinicError):
    """A prompt file lacks a section or a blank, or has one too many; a mistake in the package, not the user's."""


class Prompts:
    """The prompts of one file in one language: `prompts("doctor", department="...")`."""

    def __init__(self, path: Path) -> None:
        parts = _SECTION.split(path.read_text("utf-8"))
        self._path = path
        self._texts = {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}
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

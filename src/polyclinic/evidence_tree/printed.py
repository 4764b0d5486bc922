"""An evidence tree as text, in the indented form of the paper (§3.2, appendix B), and read back from it.

    Reasoning pathway
      Iron deficiency anaemia
        Analysis: Small pale cells and empty stores.
          Evidence 1: hemoglobin 84 g/L
          Evidence 2: ferritin 6 ug/L

`parse_tree(print_tree(tree))` is the tree. What models make of the form is read as well: LaTeX's `dirtree`, drawn
branches, Markdown's headings and bullets. What is not a whole tree is none: nothing is left out of it to make it fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from polyclinic.errors import UnreadableReply
from polyclinic.evidence_tree.tree import EvidenceTree, Reasoning, Suspected
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.language.word_lists import Pattern, WordLists

WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""

_INDENT = "  "
_ROOT, _DIAGNOSIS, _ANALYSIS, _EVIDENCE = range(4)

# LaTeX's dirtree counts from 1 and ends a node with a full stop of its own, which may be the sentence's too.
_DIRTREE = re.compile(r"^(?:\\dirtree)?\s*\{?%?\s*\.([1-9])\s+(.*?)\s*\.?\}?$")
_DECORATION = re.compile(r"^[\s│├└─┬|`+*#>•–—-]*(?:\d{1,2}[.)、]\s+)?")
_EMPHASIS = re.compile(r"\*\*|__")
_FENCE = re.compile(r"^```[a-z]*$")


class _TreeWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The labels, as they are printed and as they are read."""

    root: str
    analysis: str
    evidence: str
    is_analysis: Pattern
    is_evidence: Pattern


_words = WORDS.section("tree", _TreeWords)


def print_tree(tree: EvidenceTree, language: Language = "en") -> str:
    """Returns the tree as text; one without a diagnosis is its first line alone."""
    return "\n".join(_INDENT * level + text for level, text in _lines(tree, _words(language)))


def _lines(tree: EvidenceTree, words: _TreeWords) -> Iterator[tuple[int, str]]:
    yield _ROOT, words.root
    for one in tree.suspected:
        yield _DIAGNOSIS, one.diagnosis
        for reasoning in one.reasonings:
            yield _ANALYSIS, f"{words.analysis}{reasoning.analysis}"
            for number, text in enumerate(reasoning.evidence, start=1):
                yield _EVIDENCE, f"{words.evidence.format(number=number)}{text}"


def parse_tree(text: str) -> EvidenceTree:
    """Reads a tree that was printed, in either language.

    Raises:
        UnreadableReply: it is no tree, or not a whole one; says which line does not fit.
    """
    lines = [line.rstrip() for line in text.split("\n") if line.strip() and not _FENCE.match(line)]
    levels = _by_indentation(lines)
    try:
        return _built(_by_labels(lines) if levels is None else levels)
    except ValueError as problem:
        raise UnreadableReply(f"this is no evidence tree: {problem}", text=text) from None


def _by_indentation(lines: list[str]) -> list[tuple[int, str]] | None:
    """Returns the lines of what is printed as we print it with their levels; None where it is not."""
    found: list[tuple[int, str]] = []
    for line in lines:
        said = line.lstrip(" ")
        level, rest = divmod(len(line) - len(said), len(_INDENT))
        if rest or level > _EVIDENCE or (level == _ROOT) != (not found):
            return None
        label = _label(said)
        if level >= _ANALYSIS:
            if label is None or label[0] != level:
                return None
            said = label[1]
        found.append((level, said))
    return found or None


def _by_labels(lines: list[str]) -> list[tuple[int, str]]:
    """Returns the lines of a tree that is drawn in another way: what they begin with says what they are."""
    drawn = [_DIRTREE.match(line) for line in lines]
    if any(drawn):
        lines = [match[2] for match in drawn if match is not None]
    found: list[tuple[int, str]] = []
    for line in lines:
        said = _EMPHASIS.sub("", _DECORATION.sub("", line)).strip()
        if not said:
            continue
        found.append(_label(said) or (_DIAGNOSIS if found else _ROOT, said))
    return found


def _label(said: str) -> tuple[int, str] | None:
    for language in LANGUAGES:
        words = _words(language)
        for level, label in ((_ANALYSIS, words.is_analysis), (_EVIDENCE, words.is_evidence)):
            if match := label.match(said):
                return level, said[match.end() :]
    return None


def _built(lines: list[tuple[int, str]]) -> EvidenceTree:
    if not lines or lines[0][0] != _ROOT:
        raise ValueError("it has no first line that names it")
    suspected: list[tuple[str, list[tuple[str, list[str]]]]] = []
    for level, said in lines[1:]:
        if level == _ROOT:
            raise ValueError(f"it has a second root, {said[:60]!r}")
        if level == _DIAGNOSIS:
            suspected.append((said, []))
        elif level == _ANALYSIS and suspected:
            suspected[-1][1].append((said, []))
        elif level == _EVIDENCE and suspected and suspected[-1][1]:
            suspected[-1][1][-1][1].append(said)
        else:
            raise ValueError(f"{said[:60]!r} stands under nothing")
    return EvidenceTree(
        tuple(
            Suspected(name, tuple(Reasoning(said, tuple(texts)) for said, texts in under)) for name, under in suspected
        )
    )

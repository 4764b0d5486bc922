"""The typed evidence tree (Tree-of-Reasoning §3.2): diagnosis, reasoning, evidence; printed and read back.

    EvidenceTree((
        Suspected("Iron deficiency anaemia", (
            Reasoning("Small pale cells and empty stores.", ("hemoglobin 84 g/L", "ferritin 6 ug/L")),
        )),
    ))

A text of a tree is one line, and says something; a diagnosis has a reasoning, and a reasoning evidence. What has not is
no tree: where a model gives such a thing, its answer is unreadable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import msgspec

from polyclinic.errors import UnreadableReply
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.language.word_lists import Pattern, WordLists

T = TypeVar("T", bound=msgspec.Struct)

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Texts = Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1)]


def one_line(text: str) -> str:
    """Returns a text with every stretch of white space as one blank, and none around it."""
    return " ".join(text.split())


def _said(text: str, what: str) -> str:
    if not (line := one_line(text)):
        raise ValueError(f"a {what} of an evidence tree is blank")
    return line


class Reasoning(msgspec.Struct, frozen=True):
    """Why a diagnosis is suspected, and what in the record bears it."""

    analysis: _Name
    evidence: _Texts

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "analysis", _said(self.analysis, "reasoning"))
        msgspec.structs.force_setattr(
            self, "evidence", tuple(_said(text, "piece of evidence") for text in self.evidence)
        )
        if not self.evidence:
            raise ValueError("a reasoning of an evidence tree has no evidence")


class Suspected(msgspec.Struct, frozen=True):
    """A diagnosis that somebody suspects, and why."""

    diagnosis: _Name
    reasonings: Annotated[tuple[Reasoning, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "diagnosis", _said(self.diagnosis, "diagnosis"))
        if not self.reasonings:
            raise ValueError("a diagnosis of an evidence tree has no reasoning")


class Leaf(NamedTuple):
    """A piece of evidence in its place."""

    diagnosis: str
    analysis: str
    evidence: str


class EvidenceTree(msgspec.Struct, frozen=True):
    """What somebody thinks the patient has, the likeliest first; nothing where nothing is suspected."""

    suspected: tuple[Suspected, ...] = ()

    def leaves(self) -> Iterator[Leaf]:
        """Yields every piece of evidence with the diagnosis and the reasoning that it stands under."""
        for one in self.suspected:
            for reasoning in one.reasonings:
                for text in reasoning.evidence:
                    yield Leaf(one.diagnosis, reasoning.analysis, text)

    def pruned(self, keep: Callable[[Leaf], bool]) -> EvidenceTree:
        """Returns the tree without the evidence that is not kept, and without what is then borne by nothing."""
        suspected = []
        for one in self.suspected:
            reasonings = []
            for reasoning in one.reasonings:
                leaves = (Leaf(one.diagnosis, reasoning.analysis, text) for text in reasoning.evidence)
                if kept := tuple(leaf.evidence for leaf in leaves if keep(leaf)):
                    reasonings.append(Reasoning(reasoning.analysis, kept))
            if reasonings:
                suspected.append(Suspected(one.diagnosis, tuple(reasonings)))
        return EvidenceTree(tuple(suspected))


def same_words(name: str) -> str:
    """Returns a name without case, width and signs, to tell whether two are the same."""
    return " ".join(re.sub(r"[^\w]+", " ", unicodedata.normalize("NFKC", name).casefold()).split()) or name


def merge(trees: Iterable[EvidenceTree], *, same: Callable[[str], str] = same_words) -> EvidenceTree:
    """Merges trees: diagnoses that are the `same`, reasonings in the same words, evidence in the same words.

    What stands first stays first; a diagnosis keeps the name that it has in the first tree that holds it.
    """
    names: dict[str, str] = {}
    merged: dict[str, dict[str, tuple[str, dict[str, str]]]] = {}
    for tree in trees:
        for one in tree.suspected:
            key = same(one.diagnosis)
            names.setdefault(key, one.diagnosis)
            under = merged.setdefault(key, {})
            for reasoning in one.reasonings:
                _, evidence = under.setdefault(same_words(reasoning.analysis), (reasoning.analysis, {}))
                for text in reasoning.evidence:
                    evidence.setdefault(same_words(text), text)
    return EvidenceTree(
        tuple(
            Suspected(names[key], tuple(Reasoning(said, tuple(texts.values())) for said, texts in under.values()))
            for key, under in merged.items()
        )
    )


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
    """Reads a tree that was printed, in either language."""
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

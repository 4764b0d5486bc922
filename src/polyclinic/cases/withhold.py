"""Takes out of a text what a patient must not say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from polyclinic.cases.known import Known, known_as
from polyclinic.cases.rejoining import rejoined
from polyclinic.language.folding import SENTENCE, Folded, fold_term

_CLAUSE = re.compile(
    r"，|,(?!\d{3}(?!\d))|\s(?=患[者儿])"
    r"|(?<![，,])\s(?=(?:but|and (?:he|she|they|I|has|was|had)|which|because|although)\b)"
)
_OPEN, _CLOSE = "([（【“", ")]）】”"


def withhold(text: str, terms: Iterable[str], *, section: str | None = None) -> str:
    """Takes out of a text the clauses that hold a term, so that a patient can say the rest.

    Of a sentence with several clauses only those with a term go; where the rest could not stand by itself, or the
    term spans clauses, the whole sentence goes. In what is returned no term is left, unless the text is that of a
    `section` of the history: there clauses stay that show how the patient knows of what they name (see `known_as`).
    """
    wanted = tuple(dict.fromkeys(fold_term(term) for term in terms if term.strip()))
    if not _holds(text, wanted):
        return text
    kept: list[str] = []
    across = _across(text, wanted)
    for order, (sentence, end) in enumerate(_sentences(text)):
        if order in across:
            continue
        rest = _without_clauses(sentence, wanted, section)
        if rest.strip():
            kept.append(rest + end)
        elif "\n" in end and kept and not kept[-1].endswith("\n"):
            kept.append("\n")
    result = "".join(kept).strip()
    # A term that spans sentences can only be broken by dropping them all.
    return "" if section is None and _holds(result, wanted) else result


def ways_known(term: str, text: str, *, section: str = "present") -> set[Known | None]:
    """Returns how the clauses of a text that hold a term show that the patient knows of it; None for who does not."""
    ways: set[Known | None] = set()
    for sentence, _ in _sentences(text):
        if _holds(sentence, (term,)):
            for earlier, clause in _clauses(sentence):
                if _holds(clause, (term,)):
                    ways.add(known_as(term, clause, section=section, earlier=earlier))
    return ways


def _holds(text: str, wanted: tuple[str, ...]) -> bool:
    folded = Folded(text)
    return any(folded.find(term) >= 0 for term in wanted)


def _across(text: str, wanted: tuple[str, ...]) -> set[int]:
    """Returns which sentences hold a term together that neither holds alone: its words stand on two lines."""
    sentences = [sentence for sentence, _ in _sentences(text)]
    found: set[int] = set()
    for order, (one, following) in enumerate(itertools.pairwise(sentences)):
        together = Folded(f"{one}\n{following}")
        here = [Folded(one), Folded(following)]
        if any(together.find(term) >= 0 > max(alone.find(term) for alone in here) for term in wanted):
            found |= {order, order + 1}
    return found


def _names(clause: str, wanted: tuple[str, ...], section: str | None, earlier: str) -> bool:
    """Whether a clause names what must not be said."""
    folded = Folded(clause)
    held = [term for term in wanted if folded.find(term) >= 0]
    if not held or section is None:
        return bool(held)
    return any(known_as(term, clause, section=section, earlier=earlier) is None for term in held)


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    begin = 0
    for end in SENTENCE.finditer(text):
        blank = re.compile(r"\s*").match(text, end.end())
        stop = blank.end() if blank else end.end()
        yield text[begin : end.start()], text[end.start() : stop]
        begin = stop
    yield text[begin:], ""


def _without_clauses(sentence: str, wanted: tuple[str, ...], section: str | None) -> str:
    if not _holds(sentence, wanted):
        return sentence
    apart = list(_clauses(sentence))
    clauses = [clause for _, clause in apart]
    held = [_names(clause, wanted, section, earlier) for earlier, clause in apart]
    if not any(held):
        # Either all that is named is known, or a name spans clauses.
        return sentence if any(_holds(clause, wanted) for clause in clauses) else ""
    if all(held):
        return ""
    rest = rejoined(clauses, held, lambda text: _holds(text, wanted))
    return "" if section is None and _holds(rest, wanted) else rest


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Yields the clauses of a sentence, each behind what stands before it."""
    marks = [mark for mark in _CLAUSE.finditer(sentence) if not _in_brackets(sentence, mark.start())]
    starts = [0, *(mark.start() for mark in marks)]
    for begin, end in zip(starts, [*starts[1:], len(sentence)], strict=True):
        yield sentence[:begin], sentence[begin:end]


def _in_brackets(text: str, at: int) -> bool:
    """Whether a place stands in brackets or quotation marks that are closed behind it."""
    before, behind = text[:at], text[at:]
    opened = sum(map(before.count, _OPEN)) - sum(map(before.count, _CLOSE))
    return opened > 0 and sum(map(behind.count, _CLOSE)) > 0

"""Takes out of a text what a patient must not say.

A patient may say what it knows of a disease already: what is among past illnesses, medicines or habits, what is told as
history ("a history of ...", "known ...", diagnosed years ago), a relative's illness, and what is denied. What a clause
only suspects, or finds in this visit, is withheld.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from polyclinic.language.folding import SENTENCE, Folded, fold_term, tidy
from polyclinic.language.language import capitalised, is_chinese
from polyclinic.language.word_lists import Pattern, WordLists

WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""

Known = Literal["had", "a relative's", "denied"]
"""How a patient knows of a disease: its own, somebody else's (or one it met, or was warded off), or denied."""

_OF_BEFORE = frozenset(("past", "medications", "allergies", "personal"))


_words = WORDS.section("known", dict[str, Pattern])


def known_as(term: str, clause: str, *, section: str = "present", earlier: str = "", later: str = "") -> Known | None:
    """Returns how a clause shows that the patient knows of what a term names; None where it does not."""
    folded = Folded(clause)
    at = folded.find(term)
    if at < 0:
        return None
    text = folded.plain if len(folded.plain) == len(folded.cased) else folded.cased
    before, behind = text[:at], text[at + len(term) :]
    how = _at(before, behind, section, tidy(earlier), tidy(later))
    # Where it is named twice, it is known only if it is so both times.
    if how is not None and Folded(behind).find(term) >= 0 and known_as(term, behind, section=section) is None:
        return None
    return how


def _at(before: str, behind: str, section: str, earlier: str, later: str) -> Known | None:
    words = _words("zh" if is_chinese(before + behind + earlier) else "en")
    denial = _last(words["denial"], before)
    if denial and not words["not_denial"].search(before, denial.end()):
        return "denied"
    if words["visit"].search(before) or words["visit"].search(behind):
        return None
    if section == "family":
        return "a relative's"
    shared = words["shared"].search(f"{behind} {later}")
    kin = None if shared else _last(words["kin"], before)
    if (kin and not words["not_kin"].search(before, kin.end())) or (not shared and words["kin_behind"].search(behind)):
        return "a relative's"
    if section in _OF_BEFORE:
        return "had"
    known, found = _last(words["before"], before), _last(words["found"], before)
    if (
        known
        and not words["brief"].search(before[: known.start()])
        and (found is None or found.start() < known.start())
    ):
        return "had"
    if words["taken"].search(before) and not words["recent"].search(behind):
        return "had"
    if found is None and words["behind"].search(behind):
        return "had"
    ago, recent = _last(words["long_ago"], earlier), _last(words["recent"], earlier)
    since = ago is not None and (recent is None or recent.start() < ago.start())
    if since and found is None and words["diagnosed"].search(before) and not words["recent"].search(before):
        return "had"
    return None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for last in pattern.finditer(text):  # noqa: B007
        pass
    return last


_LONGEST_ITEM = 6  # words of the first thing of a list


_Joints = Mapping[str, Pattern]

_joints = WORDS.section("joints", dict[str, Pattern])


def rejoined(clauses: list[str], gone: list[bool], holds: Callable[[str], bool]) -> str:
    """Returns the clauses that have not gone as one sentence.

    What only qualifies a clause that goes, goes with it; where the first thing of a list goes, the next takes its
    place.
    """
    chinese = is_chinese("".join(clauses))
    words = _joints("zh" if chinese else "en")
    kept: list[str] = []
    lead, behind_gap, last = "", False, len(clauses) - 1
    for order, clause in enumerate(clauses):
        bare = clause.lstrip("，, ")
        if gone[order] or (behind_gap and words["dangling"].match(bare)):
            lead = _lead(clause, words, holds) if gone[order] else lead
            if order == last and kept and not chinese:
                kept[-1] = _as_last(kept[-1], bare, words)
            behind_gap = True
            continue
        said = _said(clause, bare, words) if behind_gap else clause
        if behind_gap and lead and _is_item(bare, words):
            said = f"{lead} {words['loose'].sub('', bare, count=1)}"
        elif not kept and behind_gap:
            said = words["joint"].sub("", said.lstrip("，, "), count=1)
        elif kept and chinese and clause[:1].isspace():
            # Where only a blank divides clauses, what goes between them takes the comma with it.
            said = clause if kept[-1].endswith("，") else f"，{bare}"
        kept.append(said)
        lead, behind_gap = "", False
    text = "".join(kept)
    if len(kept) == 1 and gone[1:2] == [True] and words["stub"].match(text.strip()):
        return ""
    return capitalised(text) if gone[0] else text


def _said(clause: str, bare: str, words: _Joints) -> str:
    """Returns a clause without what ties it to one that goes."""
    if words["reason"].match(bare):
        return f", and {words['reason'].sub('', bare, count=1)}"
    return f", {words['loose'].sub('', bare, count=1)}" if words["loose"].match(bare) else clause


def _lead(clause: str, words: _Joints, holds: Callable[[str], bool]) -> str:
    """Returns what a list hangs on of which a clause that goes holds the first thing ("... reveals"); "" for none."""
    for found in reversed(list(words["govern"].finditer(clause))):
        lead, item = clause[: found.end()], clause[found.end() :]
        if holds(item) and not holds(lead) and 0 < len(item.split()) <= _LONGEST_ITEM:
            return lead
    return ""


def _is_item(bare: str, words: _Joints) -> bool:
    """Whether a clause is a thing of a list, and no statement of its own."""
    return not words["joint"].match(bare) and not words["finite"].search(bare)


def _as_last(clause: str, gone: str, words: _Joints) -> str:
    """Returns a clause as the last of its sentence, where the one that was has gone, with what joined that one."""
    bare, joint = clause.lstrip(", "), words["joint"].match(gone)
    if clause == bare or joint is None or words["finite"].match(gone, joint.end()):
        return clause
    tied = any(tie.match(bare) for tie in (words["joint"], words["dangling"], words["reason"]))
    return clause if tied else f", {joint[1]} {bare}"


_CLAUSE = re.compile(
    r"，|,(?!\d{3}(?!\d))|\s(?=患[者儿])"
    r"|(?<![，,])\s(?=(?:but|and (?:he|she|they|I|has|was|had)|which|because|although)\b)"
)
_MOST_ACROSS = 5  # sentences that a term can span
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


def clauses_of(text: str) -> Iterator[tuple[str, str, str]]:
    """Yields the clauses of a text, each between what stands before it in its sentence and what stands behind it."""
    for sentence, _ in _sentences(text):
        yield from _clauses(sentence)


def ways_known(term: str, text: str, *, section: str = "present") -> set[Known | None]:
    """Returns how the clauses of a text that hold a term show that the patient knows of it; None for who does not."""
    ways: set[Known | None] = set()
    for sentence, _ in _sentences(text):
        if _holds(sentence, (term,)):
            for earlier, clause, later in _clauses(sentence):
                if _holds(clause, (term,)):
                    ways.add(known_as(term, clause, section=section, earlier=earlier, later=later))
    return ways


def _holds(text: str, wanted: tuple[str, ...]) -> bool:
    folded = Folded(text)
    return any(folded.find(term) >= 0 for term in wanted)


def _across(text: str, wanted: tuple[str, ...]) -> set[int]:
    """Returns which sentences hold a term together that none of them holds alone."""
    sentences = list(_sentences(text))
    found: set[int] = set()
    for size in range(2, _MOST_ACROSS + 1):
        for first in range(len(sentences) - size + 1):
            here = sentences[first : first + size]
            together = "".join(sentence + end for sentence, end in here)
            less = ("".join(sentence + end for sentence, end in part) for part in (here[1:], here[:-1]))
            inside = [Folded(part.rstrip()) for part in less]
            whole = Folded(together)
            if any(whole.find(term) >= 0 > max(part.find(term) for part in inside) for term in wanted):
                found.update(range(first, first + size))
    return found


def _names(within: tuple[str, str, str], wanted: tuple[str, ...], section: str | None) -> bool:
    """Whether a clause, between what stands before it and behind it, names what must not be said."""
    earlier, clause, later = within
    folded = Folded(clause)
    held = [term for term in wanted if folded.find(term) >= 0]
    if not held or section is None:
        return bool(held)
    return any(known_as(term, clause, section=section, earlier=earlier, later=later) is None for term in held)


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
    clauses = [clause for _, clause, _ in apart]
    held = [_names(within, wanted, section) for within in apart]
    if not any(held):
        # Either all that is named is known, or a name spans clauses.
        return sentence if any(_holds(clause, wanted) for clause in clauses) else ""
    if all(held):
        return ""
    rest = rejoined(clauses, held, lambda text: _holds(text, wanted))
    return "" if section is None and _holds(rest, wanted) else rest


def _clauses(sentence: str) -> Iterator[tuple[str, str, str]]:
    """Yields the clauses of a sentence, each between what stands before it and what stands behind it."""
    marks = [mark for mark in _CLAUSE.finditer(sentence) if not _in_brackets(sentence, mark.start())]
    starts = [0, *(mark.start() for mark in marks)]
    for begin, end in zip(starts, [*starts[1:], len(sentence)], strict=True):
        yield sentence[:begin], sentence[begin:end], sentence[end:]


def _in_brackets(text: str, at: int) -> bool:
    """Whether a place stands in brackets or quotation marks that are closed behind it."""
    before, behind = text[:at], text[at:]
    opened = sum(map(before.count, _OPEN)) - sum(map(before.count, _CLOSE))
    return opened > 0 and sum(map(behind.count, _CLOSE)) > 0

"""Makes a sentence of the clauses that are left of one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from polyclinic.cases.known import WORDS
from polyclinic.language.language import capitalised, is_chinese
from polyclinic.language.word_lists import Pattern

_LONGEST_ITEM = 6  # words of the first thing of a list


class _Joints(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dangling: Pattern
    reason: Pattern
    joint: Pattern
    loose: Pattern
    finite: Pattern
    stub: Pattern
    govern: Pattern


_joints = WORDS.section("joints", _Joints)


def rejoined(clauses: list[str], gone: list[bool], holds: Callable[[str], bool]) -> str:
    """Returns the clauses that have not gone as one sentence.

    What only qualifies a clause that goes, goes with it; where the first thing of a list goes, the next takes its
    place.

    Args:
        clauses: the clauses of a sentence, each with the mark before it.
        gone: which of them go.
        holds: whether a text holds what must go.
    """
    chinese = is_chinese("".join(clauses))
    words = _joints("zh" if chinese else "en")
    kept: list[str] = []
    lead, behind_gap, last = "", False, len(clauses) - 1
    for order, clause in enumerate(clauses):
        bare = clause.lstrip("，, ")
        if gone[order] or (behind_gap and words.dangling.match(bare)):
            lead = _lead(clause, words, holds) if gone[order] else lead
            if order == last and kept and not chinese:
                kept[-1] = _as_last(kept[-1], bare, words)
            behind_gap = True
            continue
        said = _said(clause, bare, words) if behind_gap else clause
        if behind_gap and lead and _is_item(bare, words):
            said = f"{lead} {words.loose.sub('', bare, count=1)}"
        elif not kept and behind_gap:
            said = words.joint.sub("", said.lstrip("，, "), count=1)
        elif kept and chinese and clause[:1].isspace():
            # Where only a blank divides clauses, what goes between them takes the comma with it.
            said = clause if kept[-1].endswith("，") else f"，{bare}"
        kept.append(said)
        lead, behind_gap = "", False
    text = "".join(kept)
    if len(kept) == 1 and gone[1:2] == [True] and words.stub.match(text.strip()):
        return ""
    return capitalised(text) if gone[0] else text


def _said(clause: str, bare: str, words: _Joints) -> str:
    """Returns a clause without what ties it to one that goes."""
    if words.reason.match(bare):
        return f", and {words.reason.sub('', bare, count=1)}"
    return f", {words.loose.sub('', bare, count=1)}" if words.loose.match(bare) else clause


def _lead(clause: str, words: _Joints, holds: Callable[[str], bool]) -> str:
    """Returns what a list hangs on of which a clause that goes holds the first thing ("... reveals"); "" for none."""
    for found in reversed(list(words.govern.finditer(clause))):
        lead, item = clause[: found.end()], clause[found.end() :]
        if holds(item) and not holds(lead) and 0 < len(item.split()) <= _LONGEST_ITEM:
            return lead
    return ""


def _is_item(bare: str, words: _Joints) -> bool:
    """Whether a clause is a thing of a list, and no statement of its own."""
    return not words.joint.match(bare) and not words.finite.search(bare)


def _as_last(clause: str, gone: str, words: _Joints) -> str:
    """Returns a clause as the last of its sentence, where the one that was has gone, with what joined that one."""
    bare, joint = clause.lstrip(", "), words.joint.match(gone)
    if clause == bare or joint is None or words.finite.match(gone, joint.end()):
        return clause
    tied = any(tie.match(bare) for tie in (words.joint, words.dangling, words.reason))
    return clause if tied else f", {joint[1]} {bare}"

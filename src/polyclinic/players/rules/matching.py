"""Whether what a record says answers what is asked, by what both mean."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from polyclinic.players.rules.meaning import Frame
from polyclinic.players.rules.vocabulary import Vocabulary

SAME, USUAL, WIDER, BESIDE = 4, 3, 2, 1
"""How well one thing answers for another: it is that thing, what it is a trouble of is as usual, it is a wider thing
("cough" for "dry cough"), or of one kind."""

_FELT = frozenset({"generic", "whole", "illnesses", "operations"})
_ONE_KIND = frozenset({"whole"})
ANYWHERE = frozenset({"body", "skin", "side"})
IN_MUSCLES = frozenset({"limb", "muscle"})
"""Where it hurts if it hurts all over."""
_BY_ALL = frozenset({"exercise", "walking", "standing", "stairs", "moving", "lifting", "sleep"})
"""What the whole body does; where a part of it is asked for, its part must be told."""
_SIDES = frozenset({"left", "right"})


class Fit(msgspec.Struct, frozen=True, order=True):
    """How well a told frame answers an asked one: how like the thing is, and how much else of it is said too."""

    likeness: int
    besides: int


NONE = Fit(0, 0)


def fit(asked: Frame, told: Frame, known: Vocabulary) -> Fit:
    """Returns how well what is told answers what is asked; `NONE` where it does not."""
    likeness = _likeness(asked, told, known)
    if not likeness or not _same_side(asked, told):
        return NONE
    wanted = {*asked.things, *asked.functions, *asked.later, *asked.manners, *asked.named}
    return Fit(likeness, len(wanted & (told.wide | told.places | set(told.manners))))


def essential(asked: Frame) -> tuple[str, ...]:
    """Returns what an answer must be about: the things that are asked for, else what the body does."""
    head = tuple(i for i in asked.things if i not in asked.later)
    # "Does the lump hurt?" asks for the pain; that there is a lump is known.
    return tuple(i for i in head if i not in asked.given) or head or asked.functions


def _likeness(asked: Frame, told: Frame, known: Vocabulary) -> int:
    wanted = essential(asked)
    if "vaccine" in told.wide and "vaccine" not in asked.wide:
        # Who is protected from something has not had it.
        return 0
    if not wanted:
        at_it = bool(asked.named) and any(known.kind[i] in _FELT for i in told.things)
        return WIDER if at_it and _same_place(asked, told, known) else 0
    # "Does the lump hurt?" asks for both; of an illness or a symptom with a name of its own any will do.
    found = {thing: _one(thing, asked, told, known) for thing in wanted}
    both = [found[i] for i in wanted if known.kind[i] == "generic" and i not in asked.either]
    others = [found[i] for i in wanted if known.kind[i] != "generic" and i not in asked.either]
    either = [found[i] for i in asked.either if i in found] if min(both, default=1) else []
    return max([min(both, default=0), *others, *either])


def _one(thing: str, asked: Frame, told: Frame, known: Vocabulary) -> int:
    if known.kind[thing] == "functions":
        here = _same_place(asked, told, known) if told.named else not (thing in _BY_ALL and set(asked.named) - ANYWHERE)
        return SAME if here and thing in told.wide else 0
    if not _same_place(asked, told, known) and (known.kind[thing] == "generic" or told.named):
        return 0
    if thing in told.wide:
        return SAME
    if (
        known.eq[thing]
        and _same_place(asked, told, known)
        and all(i in told.wide for i in known.eq[thing] if known.kind[i] != "parts")
    ):
        return SAME
    above = known.above[thing] - {thing}
    # A cough may be a dry one; phlegm is not yet blood in it.
    if (
        known.kind[thing] != "generic"
        and known.made_of[thing]
        and known.direct[thing] <= told.wide
        and any(i in above and known.kind[i] in _FELT for i in told.things)
    ):
        return WIDER
    functions = {i for i in above if known.kind[i] == "functions" and i != "pregnancy"}
    if functions & set(told.functions) and ("normal" in told.plain or "same" in told.manners):
        return USUAL
    # One infection says nothing of another.
    kinds = {i for i in above if known.kind[i] in _ONE_KIND and i != "infection"}
    if any(kinds & known.above[i] for i in told.things if i not in above):
        return BESIDE
    if known.kind[thing] == "illnesses" and known.felt[thing] and not known.above[thing] - {thing, "chronic"}:
        # "Any lung trouble?" is answered by what is felt there.
        felt = {part for i in (*told.things, *told.functions) for part in known.felt[i]}
        return BESIDE if any(known.above[part] & asked.places for part in felt) else 0
    return 0


def _same_place(asked: Frame, told: Frame, known: Vocabulary) -> bool:
    wanted = [part for part in asked.named if part not in ANYWHERE]
    if not wanted:
        return True
    if any(part in told.places for part in wanted) or ("body" in told.named and asked.places & IN_MUSCLES):
        return True
    # A rash of the skin of the face is none on the back.
    had = [part for part in told.named if part not in ANYWHERE] or told.named
    return any(part in asked.places for part in had)


def _same_side(asked: Frame, told: Frame) -> bool:
    wanted, had = _SIDES & set(asked.manners), _SIDES & set(told.manners)
    return not wanted or not had or bool(wanted & had) or not told.named


def best_fit(asked: Frame, told: Iterable[Frame], known: Vocabulary) -> tuple[Fit, bool]:
    """Returns the best fit among the frames of one statement, and whether the statement denies it there."""
    fits = [(fit(asked, frame, known), not frame.denied) for frame in told]
    best = max(fits, default=(NONE, True))
    return best[0], not best[1]

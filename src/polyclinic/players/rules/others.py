"""Whether a question asks for the trouble of somebody else, and what the patient knows of that.

Who is asked whether anybody around has the same tells whom it met that was ill, and never what it feels itself.
"""

from __future__ import annotations

import functools

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.matching import essential
from polyclinic.players.rules.meaning import read
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.vocabulary import vocabulary
from polyclinic.players.rules.words import WORDS

_FELT = frozenset({"generic", "whole"})
_CAUGHT = frozenset({"infection", "infectious_disease", "sick_contact"})
_NOT_THEIRS = frozenset({"similar_before"})
_NO_PERSON = frozenset({"dust", "animals", "pollen", "water", "travel", "living"})
_AT_MOST = 2


class _OthersAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How somebody else is asked for.

    Attributes:
        asked: who it is whose trouble is asked for, to the end of the clause.
        otherwise: what else of those around is asked for in like words: whether they smoke.
        same: what says that somebody is ill without naming how.
        told: how it reads that somebody else was ill.
        unlike: how something else reads that could be taken for it.
    """

    asked: Pattern
    otherwise: Pattern
    same: Pattern
    told: Pattern
    unlike: Pattern


_section = WORDS.section("others", _OthersAsked)


@functools.lru_cache(maxsize=4096)
def asks_of_others(text: str, language: Language, *, of_family: bool = False) -> bool:
    """Whether a question asks if somebody around the patient has some trouble; of the family, one that is caught."""
    words, known = _section(language), vocabulary(language)
    found = words.asked.search(text)
    if found is None or words.otherwise.search(text):
        return False
    said = found[0]
    named = {thing for frame in read(said, language) for thing in (*essential(frame), *frame.things)} - _NOT_THEIRS
    kinds = _FELT if of_family else _FELT | {"illnesses"}
    return words.same.search(said) is not None or any(
        known.kind[thing] in kinds or known.above[thing] & _CAUGHT for thing in named
    )


def told_of_others(story: Story, *, of_family: bool = False) -> tuple[Fact, ...]:
    """Returns what is known of others who were ill; of the family, only that there was somebody."""
    words = _section(story.language)
    found = [
        fact
        for fact in story.facts
        if fact.section != "family"
        and (words.told.search(fact.text) or _is_of_contact(fact))
        and not (words.unlike.search(fact.text) or (of_family and fact.denied))
    ]
    return tuple(sorted(found, key=lambda fact: fact.denied)[:_AT_MOST])


def _is_of_contact(fact: Fact) -> bool:
    return not fact.denied and any("sick_contact" in f.wide and not f.wide & _NO_PERSON for f in fact.frames)

"""Whether a statement answers what is asked, or only tells of something near it.

It answers where it is the thing itself or one of its kind, in the part of the body that is asked for, of the quality,
under the circumstance and with the trigger that are named. A wider thing ("a cough" for a dry one), another of its
kind, or the same thing without what makes it what is asked for, is near it: it may be told, and is no answer.
"""

from __future__ import annotations

import msgspec

from polyclinic.players.rules.attributes import ALIKE, BY_DOING
from polyclinic.players.rules.matching import ANYWHERE, IN_MUSCLES, NONE, USUAL, essential, fit
from polyclinic.players.rules.meaning import Frame
from polyclinic.players.rules.questions import Part
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.vocabulary import Vocabulary, vocabulary

_OF_WHAT_KIND = frozenset({"color", "form", "character", "hours", "circumstance", "radiation"})
"""What kinds of qualities make a thing another one; since when and how bad it is do not."""
_ASKS_FOR_ONE = frozenset({"time_of_day", "what_color", "what_like", "located", "size"})
_NO_REGION = ANYWHERE | {"joint", "bone", "muscle", "nerve", "vein"}
_SOMEBODY = frozenset({"mother", "father", "parent", "sibling", "child", "grandparent", "other_relative", "partner"})
_BRINGS_IT = frozenset({"exposures", "medicines"})
_TAKEN = frozenset({"food_eaten", "smoking", "alcohol", "caffeine", "betel", "street_drugs"})
_MOVING = frozenset({"moving"})
_COMES_OUT = frozenset({"bleeding", "pus", "discharge"})
_COMES_WITH = frozenset({"generic", "whole", "occasions"})


def answers(part: Part, fact: Fact, story: Story) -> bool:
    """Whether a fact that holds a part of a question answers it."""
    asked = [frame for frame in part.frames if essential(frame)]
    if not asked:
        return True
    known = vocabulary(story.language)
    around = [frame for f in story.facts if f.sentence == fact.sentence for frame in f.frames]
    by_symptom = part.symptom is not None and part.symptom in fact.symptoms
    return any(
        (_is_told(frame, fact, known) or (by_symptom and not _is_placed_elsewhere(frame, fact, known)))
        and _with_all(frame, around, known)
        and not (_others(frame, story) and not any(_others(frame, story) & told.wide for told in around))
        for frame in asked
    )


def _is_told(asked: Frame, fact: Fact, known: Vocabulary) -> bool:
    """Whether one of a fact's frames is the thing that is asked for, in its place."""
    # Who chokes on drinks is asked for the choking: that something is drunk is no answer.
    brings = _triggers(asked, known)
    it = msgspec.structs.replace(asked, things=tuple(i for i in asked.things if i not in brings)) if brings else asked
    return any(fit(it, told, known).likeness >= USUAL and not _is_elsewhere(it, told, known) for told in fact.frames)


def _is_placed_elsewhere(asked: Frame, fact: Fact, known: Vocabulary) -> bool:
    """Whether a fact tells of the thing that is asked for in another place alone."""
    wanted = set(essential(asked))
    of_it = [told for told in fact.frames if wanted & told.wide or fit(asked, told, known) != NONE]
    return bool(of_it) and all(_is_elsewhere(asked, told, known) for told in of_it)


def _is_elsewhere(asked: Frame, told: Frame, known: Vocabulary) -> bool:
    """Whether a place is asked for, and what is told is of another or of the body in general.

    A region holds its parts: what is felt in the hand may be felt in a finger. Joints are no region.
    """
    of_itself = {part for thing in asked.things for part in known.felt[thing]}
    wanted = [part for part in asked.named if part not in ANYWHERE and part not in of_itself]
    if not wanted or not told.named or any(part in told.places for part in wanted):
        return False
    if "body" in told.named and asked.places & IN_MUSCLES:
        return False
    return not any(part in asked.places for part in told.named if part not in _NO_REGION)


def _others(asked: Frame, story: Story) -> frozenset[str]:
    """Returns who else's trouble is asked for: a relative's, and not the patient's own."""
    own = story.is_child or "pregnancy" in asked.wide
    return (asked.wide & _SOMEBODY) - (frozenset({"child"}) if own else frozenset())


def _with_all(asked: Frame, told: list[Frame], known: Vocabulary) -> bool:
    """Whether what is told has the qualities, circumstances and triggers that are asked for."""
    return all(_is_so(one, told) for one in _qualities(asked, known)) and all(
        any(one in frame.wide for frame in told) for one in _triggers(asked, known)
    )


def _qualities(asked: Frame, known: Vocabulary) -> list[str]:
    return [m for m in asked.manners if known.kind[m] in _OF_WHAT_KIND and m not in _ASKS_FOR_ONE]


def _triggers(asked: Frame, known: Vocabulary) -> list[str]:
    head = essential(asked)
    # Blood that is coughed up is no other blood.
    comes = any(i in _COMES_OUT for i in head)
    named = [
        i
        for i in asked.things
        if (comes and known.kind[i] == "whole" and i in head and i not in asked.either)
        or (known.kind[i] in _BRINGS_IT and i != "sick_contact")
        or i in _TAKEN
        or (i in asked.later and known.kind[i] in _COMES_WITH)
    ]
    return named if len(named) < len(asked.things) else []


def _is_so(quality: str, told: list[Frame]) -> bool:
    wanted = {quality}.union(*(like for like in ALIKE if quality in like))
    # Who is short of breath in moving need not be so in lying.
    done = BY_DOING.get(quality, frozenset()) - (_MOVING if quality == "with_position" else frozenset())
    return any(wanted & set(frame.manners) or done & (frame.wide | set(frame.functions)) for frame in told)

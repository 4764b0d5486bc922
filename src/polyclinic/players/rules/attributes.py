"""How something is, as a question asks for it: since when, how bad, of what kind, where, what makes it worse."""

from __future__ import annotations

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.matching import essential
from polyclinic.players.rules.meaning import Frame
from polyclinic.players.rules.questions import Part
from polyclinic.players.rules.story import Fact
from polyclinic.players.rules.vocabulary import vocabulary
from polyclinic.players.rules.words import WORDS

BY_DOING = {
    "on_exertion": frozenset({"exercise", "walking", "stairs", "lifting", "moving"}),
    "with_meals": frozenset({"appetite", "diet", "swallowing", "chewing", "taste", "smell", "digestion", "stool"}),
    "with_movement": frozenset({"moving", "walking"}),
    "with_breath": frozenset({"breathing"}),
    "with_position": frozenset({"standing", "moving"}),
    "at_night": frozenset({"sleep"}),
}
"""What the body does in a circumstance: it tells the circumstance, and who asks for it does not ask for that."""

ALIKE = tuple(
    map(frozenset, (("with_movement", "with_position"), ("with_movement", "on_exertion"), ("with_position", "at_rest")))
)
"""Circumstances that may be one."""


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which something can be.

    Attributes:
        asked: how it is asked for.
        groups: the groups of qualities that tell it.
        told: how it reads where no quality tells it, a time or a number.
        unlike: how what tells something else reads, whatever it says besides.
        place: a part of the body tells it.
        open: whatever is said of the thing tells it.
    """

    name: str
    asked: Pattern
    groups: tuple[str, ...] = ()
    told: Pattern | None = None
    unlike: Pattern | None = None
    place: bool = False
    open: bool = False

    @property
    def needs_thing(self) -> bool:
        """Whether it asks nothing where no thing is named: "How do you feel?", "Where is it wrong?"."""
        return self.open or self.place or "character" in self.groups

    def is_told(self, fact: Fact) -> bool:
        """Whether a fact tells it."""
        if self.unlike is not None and self.unlike.search(fact.text):
            return False
        if self.told is not None and self.told.search(fact.text):
            return True
        if self.place and any(frame.named for frame in fact.frames):
            return True
        return self.is_quality(fact)

    def is_quality(self, fact: Fact) -> bool:
        """Whether a quality of one of its groups is told."""
        kinds = vocabulary(fact.language).kind
        return any(kinds[manner] in self.groups for manner in fact.manners)


_section = WORDS.section("attributes", dict[str, tuple[Attribute, ...]])


def attributes_of(text: str, language: Language, asked: tuple[Part, ...]) -> tuple[Attribute, ...]:
    """Returns what a question asks of something or of the illness; none where it asks whether something is there."""
    known = _section(language)["attributes"]
    found = [one for one in known if one.asked.search(text)]
    if found:
        # "How long does it last?" asks for no beginning, nor does "When is it worse?".
        names = {one.name for one in found}
        wider = {"time" if names & {"length", "frequency", "trigger"} else "", "where" if "side" in names else ""}
        return tuple(one for one in found if one.name not in wider)
    kinds = vocabulary(language).kind
    # "Is the pain constant?" asks how it is; "Do you have severe headaches?" whether there are any.
    frames = [
        frame
        for part in asked
        if not part.listed or not any(essential(one) or one.named for one in part.frames)
        for frame in part.frames
    ]
    if any(essential(frame) for frame in frames) and any(essential(f) and not _said(f) for f in frames):
        # "Is your nose blocked, or is there more discharge?" asks whether each is there.
        return ()
    groups = {kinds[manner] for frame in frames for manner in _said(frame)}
    return tuple(one for one in known if groups & set(one.groups) and not one.open)


def _said(frame: Frame) -> list[str]:
    """Returns how the thing is that a frame names, without what goes with what the body does."""
    return [
        manner
        for manner in frame.manners
        if manner not in frame.later and not (BY_DOING.get(manner, frozenset()) & frame.wide and essential(frame))
    ]

"""The topics of the history that a doctor asks for as such: age, allergies, onset, family and so on."""

from __future__ import annotations

import functools
import re

import msgspec

from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.lay_vocabulary import ANYWHERE, Frame, Vocabulary, essential, read, vocabulary
from polyclinic.players.rules.questions import Part
from polyclinic.players.rules.sayings import WORDS
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.symptom_attributes import attributes_of

_ANY_ILLNESS = "chronic"
_INHERITED = "congenital"  # What a family is asked for as such: whatever runs in it is meant
_PLEASURE = "depression"  # What who enjoys something is without
_FELT = frozenset({"generic", "whole"})
_NOT_CAUSES = _FELT | {"occasions"}
_PLACED = frozenset({"operations", "injuries"})
"""What is done to, or befalls, a part of the body: that of another part is no answer."""
_INSIDE = {"head": "brain", "brain": "head"}
_CLAUSE = re.compile(r"[.?!,;，。？！；、]|\band\b")
_OF_ANYBODY = frozenset({"family", "partner", "children"})


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the history that is asked for as such."""

    name: str
    asked: Pattern  # how it is asked for
    # What of a question belongs to it alone, though it may name another topic ("allergic to any medicine").
    span: Pattern | None = None
    sections: tuple[str, ...] = ()
    told: Pattern | None = None  # how what answers it reads, in any section; None where all of its sections answer it
    groups: tuple[Pattern, ...] = ()  # what it is made of, where only what is asked for of it is told
    about: frozenset[str] = frozenset()  # concepts, or kinds of them, that tell it in any section
    unlike: Pattern | None = None  # how something else reads that could be taken for it
    # How reads what is told of it only where that is asked for by the like words (`asked_apart`).
    unasked: Pattern | None = None
    asked_apart: Pattern | None = None
    lesser: Pattern | None = None  # how reads what is told of it only where nothing else is
    # What it is asked for the sake of ("for your heart"), which is asked for no answer of its own.
    purpose: Pattern | None = None
    each: bool = False  # what is named of it is answered by that alone: of penicillin pollen says nothing
    found: bool = False  # what others found, said or wanted answers it as well
    # It may also be only when something is felt ("does it hurt when you have sex?"), which it does not answer.
    under: bool = False
    only: bool = True  # nothing else can answer it
    whole: bool = False  # what is named beside it belongs to it ("heart disease in the family")
    unknown: str = "unknown"  # the phrase for when there is nothing
    unsaid: str = "unknown"  # the phrase for when the record says that it is not known

    def answers(self, story: Story, asked: tuple[Part, ...], text: str) -> list[Fact]:
        """Returns the facts that answer it, at most three."""
        if self.groups:
            wanted_groups = [group for group in self.groups if group.search(text)]
            return [f for f in story.facts if not f.denied and any(g.search(f.text) for g in wanted_groups)][:3]
        told = self._told(story)
        if self.name in _PLACED:
            places = {part for one in asked for f in one.frames for part in f.named if part not in ANYWHERE}
            told = [fact for fact in told if not places or _may_be_at(fact, places)]
        if self.unasked is not None and not (self.asked_apart is not None and self.asked_apart.search(text)):
            # Who breathes others' smoke need not smoke.
            told = [fact for fact in told if not self.unasked.search(fact.text)]
        if self.name == "course":
            return told[:3]
        # Of several, those that speak of what is named beside the topic ("the pills for your heart").
        named = [frame for part in asked for frame in part.frames if self._besides(frame, story)]
        known = vocabulary(story.language)
        if self.each:
            # Of "flu vaccine" the flu tells which; what somebody gets from something is not the thing.
            of_it = [
                [i for i in f.things if not self._of_it(i, known) and known.kind[i] not in _NOT_CAUSES] for f in named
            ]
            pairs = zip(named, of_it, strict=True)
            named = [msgspec.structs.replace(frame, things=tuple(things)) for frame, things in pairs if things]
        fitting = [fact for frame in named for fact in story.meaning(frame, told)]
        if fitting:
            return fitting[:3]
        if named and (self.whole or self.each or any(self._is_special(i, story) for f in named for i in essential(f))):
            return []
        wanted = frozenset(t for part in asked for t in part.terms)
        return story.best(wanted, told, enough=0.5) or told[:3]

    def lack(self, story: Story) -> str:
        """Returns the phrase for when nothing of it answers: of what is told one by one, there may be others."""
        if self.is_unsaid(story):
            return self.unsaid
        others = self.each and any(not fact.denied for fact in self._told(story))
        return "nothing like that" if others else self.unknown

    def is_unsaid(self, story: Story) -> bool:
        """Whether the record says that it is not known, in a sentence that names it or under its heading."""
        for one in story.unsaid:
            named = topics_of(one.text, story.language)
            named = tuple(topic for topic in named if topic.whole) or named
            if any(topic.name == self.name or set(topic.sections) & set(self.sections) for topic in named):
                return True
            if not named and one.section in self.sections:
                return True
        return False

    def not_there(self, story: Story) -> str:
        """Returns the phrase for when what is asked of it is not there, whatever else there is."""
        return self.unsaid if self.is_unsaid(story) else self.unknown

    def purposes(self, text: str, language: Language) -> list[Frame]:
        """Returns what it is asked for the sake of."""
        found = [] if self.purpose is None else self.purpose.findall(text)
        known = vocabulary(language)
        frames = [frame for words in found for frame in read(words, language)]
        return [
            f
            for f in frames
            if any(not self._of_it(i, known) for i in essential(f)) or (not essential(f) and set(f.named) - ANYWHERE)
        ]

    def is_circumstance(self, text: str, language: Language) -> bool:
        """Whether a question names it only as what something is felt under, and asks for that."""
        known = vocabulary(language)
        of_it = [clause for clause in _CLAUSE.split(text) if self.asked.search(clause)] if self.under else []
        heads = [[i for frame in read(clause, language) for i in essential(frame)] for clause in of_it]
        return bool(heads) and all(any(known.kind[i] in _FELT and i != _PLEASURE for i in head) for head in heads)

    def covers(self, part: Part, story: Story) -> bool:
        """Whether a part of the question asks for nothing but this topic."""
        known = vocabulary(story.language)
        return all(not essential(f) or any(self._of_it(i, known) for i in essential(f)) for f in part.frames)

    def _besides(self, frame: Frame, story: Story) -> bool:
        """Whether a frame names something beside the topic itself."""
        known = vocabulary(story.language)
        named = [i for i in essential(frame) if i != _ANY_ILLNESS and not (self.whole and i == _INHERITED)]
        if self.whole and not any(known.kind[i] != "people" for i in named) and set(frame.named) - ANYWHERE:
            return True
        return any(not self._of_it(i, known) or self._is_special(i, story) for i in named)

    def _is_special(self, thing: str, story: Story) -> bool:
        """Whether a thing is one of the topic's, and not the topic as such: aspirin, of the medicines."""
        return vocabulary(story.language).kind[thing] in self.about and thing not in self.about

    def _of_it(self, thing: str, known: Vocabulary) -> bool:
        return known.kind[thing] in self.about or bool(known.above[thing] & self.about)

    def _told(self, story: Story) -> list[Fact]:
        told = story.section(*self.sections)
        own = [f for f in story.facts if self.whole or self.name in _OF_ANYBODY or not f.of_family]
        if self.told is not None or self.about:
            known = vocabulary(story.language)
            here = [f for f in told if self._tells(f, known)]
            others = [f for f in own if not self._is_found(f) and (self.name != "past" or f.section != "complaint")]
            # What stands under a heading of that name is of it, in words that are not known, too.
            there = [f for f in told if self.each and f.section == self.name and not f.denied]
            told = here or there or [f for f in others if self._tells(f, known)]
        told = [f for f in told if not self._is_found(f)] or [f for f in told if not f.of_examination]
        return [f for f in told if self.lesser is None or not self.lesser.search(f.text)] or told

    def _is_found(self, fact: Fact) -> bool:
        """Whether a fact is a finding; of a drug for the blood pressure only a value is."""
        if self.each and fact.section == self.name:
            return False  # contrast medium, of which somebody has a rash, is no image
        of_drug = self.name == "medications" and fact.of_examination and not fact.is_measured
        return fact.is_finding and not self.found and not (of_drug and not fact.is_examined)

    def _tells(self, fact: Fact, known: Vocabulary) -> bool:
        if self.unlike is not None and self.unlike.search(fact.text):
            return False
        if self.told is not None and self.told.search(fact.text):
            return True
        wide = {i for frame in fact.frames for i in frame.wide}
        return bool(wide & self.about) or any(known.kind[i] in self.about for f in fact.frames for i in f.things)


def _may_be_at(fact: Fact, places: set[str]) -> bool:
    """Whether a fact names one of some parts of the body, or what holds or belongs to it, or no part at all."""
    known = vocabulary(fact.language)
    named = [part for frame in fact.frames for part in frame.named if part not in ANYWHERE]
    wide = {above for part in places for above in known.above[part]} | {_INSIDE.get(part, part) for part in places}
    return not named or any(known.above[part] & places or part in wide for part in named)


_section = WORDS.section("topics", dict[str, tuple[Topic, ...]])


@functools.lru_cache(maxsize=4096)
def topics_of(text: str, language: Language) -> tuple[Topic, ...]:
    """Returns the topics that a question asks for."""
    rest, known = beside_topics(text, language), _section(language)["topics"]
    found = (topic for topic in known if topic.asked.search(text if topic.span is not None else rest))
    return tuple(topic for topic in found if not topic.is_circumstance(text, language))


def beside_topics(text: str, language: Language) -> str:
    """Returns a question without what belongs to one topic alone, such as the medicine of "allergic to penicillin"."""
    for topic in _section(language)["topics"]:
        if topic.span is not None and topic.asked.search(text):
            text = topic.span.sub(" ", text)
    return text


def same_topics(topics: tuple[Topic, ...], language: Language) -> tuple[Topic, ...]:
    """Returns the same topics in a language."""
    names = [topic.name for topic in topics]
    return tuple(topic for topic in _section(language)["topics"] if topic.name in names)


def lack_of_past(story: Story) -> str:
    """Returns the phrase for an earlier illness or operation of which nothing is told."""
    return next(topic.not_there(story) for topic in _section(story.language)["topics"] if topic.name == "past")


_NO_RESULTS = frozenset({"operations", "medications", "allergies"})


@functools.lru_cache(maxsize=4096)
def asks_history(text: str, language: Language) -> bool:
    """Whether a question asks for operations, medicines or allergies, and for no examination."""
    return EXAMINATION.search(text) is None and any(t.name in _NO_RESULTS for t in topics_of(text, language))


@functools.lru_cache(maxsize=4096)
def asks_temperature(text: str, language: Language) -> bool:
    """Whether a question asks how hot the patient was, and for nothing else."""
    wanted = [essential(frame) for frame in read(text, language) if essential(frame)]
    return bool(wanted) and all({"fever", "temperature"} & set(things) for things in wanted)


@functools.lru_cache(maxsize=4096)
def names_onset(text: str, language: Language) -> bool:
    """Whether a question names a way in which something begins, and so asks whether it began like that."""
    kinds = vocabulary(language).kind
    return any(kinds[manner] == "onset" for frame in read(text, language) for manner in frame.manners)


@functools.lru_cache(maxsize=4096)
def names_topic(text: str, language: Language) -> bool:
    """Whether a text asks for a topic of the history, or for how something is, though it may name no thing."""
    return bool(topics_of(text, language)) or any(not one.needs_thing for one in attributes_of(text, language, ()))


@functools.lru_cache(maxsize=4096)
def names_thing(text: str, language: Language) -> bool:
    """Whether a text names a symptom, an illness or whatever else is definite enough to be told; stress is not."""
    known = vocabulary(language)
    return any(
        known.kind[thing] not in ("generic", "people") and "stress" not in known.above[thing]
        for frame in read(text, language)
        for thing in essential(frame)
    )

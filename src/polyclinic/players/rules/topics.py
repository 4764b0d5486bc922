"""The topics of the history that a doctor asks for as such: age, allergies, onset, family and so on."""

from __future__ import annotations

import functools

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.questions import Part
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.words import WORDS


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the history that is asked for as such.

    Attributes:
        asked: how it is asked for.
        told: how what answers it reads, in any section; None where all of its sections answer it.
        groups: what it is made of, where only what is asked for of it is told.
        unlike: how something else reads that could be taken for it.
        only: nothing else can answer it.
        together: it is often asked for in one breath with others of these.
        unknown: the phrase for when there is nothing.
    """

    name: str
    asked: Pattern
    sections: tuple[str, ...] = ()
    told: Pattern | None = None
    groups: tuple[Pattern, ...] = ()
    unlike: Pattern | None = None
    only: bool = True
    together: bool = False
    unknown: str = "unknown"

    def answers(self, story: Story, asked: tuple[Part, ...], text: str) -> list[Fact]:
        """Returns the facts that answer it, at most three."""
        if self.groups:
            wanted_groups = [group for group in self.groups if group.search(text)]
            return [f for f in story.facts if not f.denied and any(g.search(f.text) for g in wanted_groups)][:3]
        told = self._told(story)
        if self.name == "course":
            return told[:3]
        wanted = frozenset(t for part in asked for t in part.terms)
        best = story.best(wanted, told, enough=0.5)
        if best:
            return best
        return self._when(story, told, wanted) if self.name == "time" else told[:3]

    def _told(self, story: Story) -> list[Fact]:
        told = story.section(*self.sections)
        if self.told is not None:
            here = [f for f in told if self.told.search(f.text)]
            told = here or [f for f in story.facts if self.told.search(f.text)]
        return [f for f in told if not f.of_examination] or told

    def _when(self, story: Story, told: list[Fact], wanted: frozenset[str]) -> list[Fact]:
        if wanted:
            # Of something else than the complaint no time is known unless it is told beside it.
            of_complaint = bool(wanted & story.topic)
            near = [f for f in told if story.cover(wanted, f) > (0.0 if of_complaint else 0.3)]
            return sorted(near, key=lambda f: -story.cover(wanted, f))[:1] or (told[:1] if of_complaint else [])
        about = [f for f in told if f.terms & story.topic]
        return (about or [f for f in told if self.unlike is None or not self.unlike.search(f.text)])[:1]


_section = WORDS.section("topics", dict[str, tuple[Topic, ...]])


@functools.lru_cache(maxsize=4096)
def topics_of(text: str, language: Language) -> tuple[Topic, ...]:
    """Returns the topic that a question asks for, or several of those that go together; none where there is none."""
    found = [topic for topic in _section(language)["topics"] if topic.asked.search(text)]
    if found and found[0].together:
        return tuple(topic for topic in found if topic.together)
    return tuple(found[:1])

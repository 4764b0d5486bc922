"""What of a story answers one part of a question: the facts that hold the thing that is asked for."""

from __future__ import annotations

from polyclinic.players.rules.matching import BESIDE, SAME, best_fit, essential
from polyclinic.players.rules.questions import Part
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.vocabulary import vocabulary

_COMES_OUT = frozenset({"bleeding", "pus", "discharge"})
_TROUBLE = frozenset({"trouble", "hard", "change", "irregular"})


def held(part: Part, story: Story, most: int = 2) -> list[Fact]:
    """Returns the facts that hold a part of a question, what affirms it first."""
    facts = [] if part.symptom is None else story.with_symptom(part.symptom)
    if facts:
        return (_of_the_thing(part, facts, story) or facts)[:most]
    asking = [frame for frame in part.frames if essential(frame)]
    # "Any trouble with your throat?" leaves the throat behind what leads on to it.
    if asking or any(f.named and (f.plain & _TROUBLE or (part.listed and not f.unread)) for f in part.frames):
        return [fact for frame in (asking or part.frames) for fact in story.meaning(frame, most=most)]
    return [] if any(frame.named or frame.later for frame in part.frames) else story.best(part.terms)


def _of_the_thing(part: Part, facts: list[Fact], story: Story) -> list[Fact]:
    """Returns the facts of the very thing where those of its symptom speak of another: of vomiting, not of nausea."""
    affirmed = [fact for fact in facts if not fact.denied]
    if not affirmed or not all(is_beside(part, fact, story) for fact in affirmed):
        return []
    known = vocabulary(story.language)
    asking = [frame for frame in part.frames if essential(frame)]
    others = [f for f in story.facts if all(best_fit(one, f.frames, known)[0].likeness == SAME for one in asking)]
    return sorted(others, key=lambda f: f.denied)


def is_beside(part: Part, fact: Fact, story: Story) -> bool:
    """Whether a fact tells of a symptom that may go with the one that is asked for, and not of that."""
    asking = [frame for frame in part.frames if essential(frame)]
    if not asking:
        # A question in the knowledge's own words; the vocabulary may never be needed.
        return False
    known = vocabulary(story.language)
    if any(known.kind[i] != "whole" for frame in asking for i in essential(frame)):
        return False
    another = any(known.kind[i] == "whole" for frame in fact.frames for i in frame.things)
    return another and all(best_fit(frame, fact.frames, known)[0].likeness <= BESIDE for frame in asking)


def without_place(part: Part, story: Story) -> tuple[list[Fact], bool]:
    """Returns what is told of something that comes out and not where, and whether it is of the place that is asked for.

    Where it comes from goes without saying in a sentence or a complaint that names the place.
    """
    asking = [frame for frame in part.frames if _COMES_OUT.issuperset(essential(frame)) and essential(frame)]
    found: list[Fact] = []
    here = False
    for asked in asking:
        wanted = set(essential(asked))
        for fact in story.facts:
            of_it = [f for f in fact.frames if wanted & f.wide and not f.named and not f.denied]
            if not of_it or fact.denied or fact.of_family or not asked.named:
                continue
            around = (f for f in story.facts if f.sentence == fact.sentence or f.section == "complaint")
            is_here = any(set(asked.named) & f.places for one in around for f in one.frames)
            found = [fact, *found] if is_here and not here else [*found, fact]
            here = here or is_here
    return found, here

"""What narrows a topic of the history: what something is taken for, and what else is set apart from it.

Who takes tablets for the sugar takes none for the nausea; who is asked what was done before the hernia is not told of
the hernia. What medicines are taken for stands in `lay/purposes.yaml`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import msgspec

from polyclinic.language.content_words import terms
from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.matching import ANYWHERE, NONE, fit
from polyclinic.players.rules.meaning import Frame
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.vocabulary import concepts, vocabulary
from polyclinic.players.rules.words import WORDS
from polyclinic.yaml_files import read_yaml

_HALF = 0.5


class _Narrowing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    set_apart: Pattern
    earlier: Pattern


_section = WORDS.section("narrowing", _Narrowing)


@functools.cache
def _purposes() -> dict[str, frozenset[str]]:
    """Returns what each class of medicines is taken for."""
    found = read_yaml(Path(__file__).with_name("lay") / "purposes.yaml", dict[str, frozenset[str]])
    for name, those in found.items():
        for one in (name, *those):
            if one not in concepts():
                raise ValueError(f"purposes.yaml: {one} is no concept")
    return found


def for_sake(facts: Iterable[Fact], sake: list[Frame], story: Story) -> tuple[list[Fact], bool]:
    """Returns those of the facts that tell what is taken for the sake of something, and whether that is certain.

    Certain is what stands in one sentence with it, and a medicine that is for it; what is for something else is left
    out.
    """
    known = vocabulary(story.language)
    wanted = {one for frame in sake for one in (*frame.wide, *(frame.places - ANYWHERE), *frame.functions)}
    certain: list[Fact] = []
    unsure: list[Fact] = []
    others = False
    for fact in facts:
        around = (frame for f in story.facts if f.sentence == fact.sentence for frame in f.frames)
        taken = {i for frame in fact.frames for i in frame.things if known.kind[i] == "medicines"}
        classes = {above for i in taken for above in known.above[i]} & _purposes().keys()
        if any(_purposes()[one] & wanted for one in classes) or any(
            fit(one, told, known) != NONE for one in sake for told in around
        ):
            certain.append(fact)
        elif classes:
            others = True
        else:
            unsure.append(fact)
    return (certain, True) if certain else ([f for f in unsure if not (others and _is_drug(f))], False)


def _is_drug(fact: Fact) -> bool:
    known = vocabulary(fact.language)
    return any(known.kind[i] == "medicines" for frame in fact.frames for i in frame.things)


def is_there(frame: Frame, story: Story) -> bool:
    """Whether something is told of a thing, or of the part of the body where it is felt."""
    parts_of_body = set(frame.named) - ANYWHERE
    near = any(parts_of_body & told.places for fact in story.facts for told in fact.frames if not fact.denied)
    return near or any(not fact.denied for fact in story.meaning(frame))


def not_set_apart(fact: Fact, text: str, topic: str) -> bool:
    """Whether a fact of a topic is none that a question sets apart ("other than the insulin", "before the hernia")."""
    return not any(len(wanted & fact.terms) > _HALF * len(wanted) for wanted in _set_apart(text, topic, fact.language))


@functools.lru_cache(maxsize=1024)
def _set_apart(text: str, topic: str, language: Language) -> tuple[frozenset[str], ...]:
    words = _section(language)
    found = words.set_apart.findall(text)
    if topic == "operations":
        found += words.earlier.findall(text)
    known = (frozenset(terms(said, language)) for said in found)
    return tuple(wanted for wanted in known if wanted)

"""What a question names, whoever is asked it."""

from __future__ import annotations

import functools

from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.language.language import Language
from polyclinic.players.rules.attributes import attributes_of
from polyclinic.players.rules.matching import essential
from polyclinic.players.rules.meaning import read
from polyclinic.players.rules.topics import topics_of
from polyclinic.players.rules.vocabulary import vocabulary

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

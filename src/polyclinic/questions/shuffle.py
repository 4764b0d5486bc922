"""Options in another order: an answer that depends on the order is no knowledge."""

from __future__ import annotations

import re

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.seeds import derive

# "All of the above" and "B and C" speak of other options by their places.
_ABOVE = re.compile(r"\b(?:above|preceding|previous(?:ly)?|foregoing)\b|以上|上述", re.IGNORECASE)


def shuffle_options(question: Question, *, seed: int, count: int = 0) -> tuple[Question, dict[str, str]]:
    """Returns a question whose options have changed their keys.

    An option that speaks of those above stays where it is; where an option names others by their keys, all stay. Where
    the keys are the options' own words (yes, no, maybe), the options keep them and stand in another order. Each `count`
    gives another one.

    Returns:
        The question, and new key to the key that the option had.
    """
    keys = list(question.options)
    generator = derive(seed, question.id, "option order", count)
    if all(key.casefold() == text.strip().casefold() for key, text in question.options.items()):
        order = generator.sample(keys, len(keys))
        reordered = {key: question.options[key] for key in order}
        return msgspec.structs.replace(question, options=reordered), {key: key for key in order}
    named = "|".join(map(re.escape, keys))
    by_key = re.compile(
        rf"(?<!\w)(?:{named})\s*(?:,|、|&|\+|/|\band\b|\bor\b|\bnor\b|和|或|及|与)\s*(?:{named})(?!\w)"
        rf"|\b(?:options?|only|选项)\s+(?:{named})(?!\w)|(?<!\w)\(?(?:{named})\)?\s+only\b",
    )
    moving = [key for key, text in question.options.items() if not _ABOVE.search(text)]
    if any(by_key.search(text) for text in question.options.values()):
        moving = []
    drawn = iter(generator.sample(moving, len(moving)))
    original = {key: next(drawn) if key in moving else key for key in keys}
    options = {key: question.options[old] for key, old in original.items()}
    return msgspec.structs.replace(question, options=options), original

"""What the rules patient says: set phrases, who it is, and what it has and has not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.language.ages import say_age
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.language.word_lists import Pattern, Rule, rewritten
from polyclinic.players.rules.words import WORDS, Voice


class _Speech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    none: dict[Voice, str]
    any: Pattern
    sentence: str
    verb: Pattern
    also_none: str
    between_none: str
    either: str
    subject: str
    old: str
    sex: dict[Sex, str]
    phrases: dict[str, tuple[str, ...]]
    of_parent: tuple[tuple[str, str], ...]
    of_child: dict[Voice, tuple[Rule, ...]]
    of_companion: tuple[Rule, ...]


_speech = WORDS.section("speech", _Speech)


class Sayer:
    """Says set phrases, varied by the generator."""

    def __init__(self, language: Language, rng: random.Random, voice: Voice = "self") -> None:
        self._words, self._rng, self._voice = _speech(language), rng, voice

    def __call__(self, key: str, *said: str) -> str:
        """Returns a phrase of this kind, with what is said put in."""
        phrase = self._rng.choice(self._words.phrases[key])
        for ours, theirs in self._words.of_parent if self._voice == "parent" else ():
            phrase = phrase.replace(ours, theirs)
        what = [s.rstrip(" .。；;，") if phrase.endswith(("{}.", "{}。")) else s for s in said]
        return phrase.format(*what)


def who(topic: str, presentation: Presentation) -> str:
    """Returns the answer to a question for age or sex; "" where it is not known."""
    words, age = _speech(presentation.language), presentation.age
    if topic == "sex":
        return "" if presentation.sex is None else words.sex[presentation.sex]
    if age is None:
        return ""
    return words.old.format(say_age(age if age < 1 else int(age), presentation.language))


def of_companion(said: str, language: Language) -> str:
    """Returns what a parent says of a child as somebody says it who came along with an adult."""
    return rewritten(said, _speech(language).of_companion)


def deny(what: str, language: Language, voice: Voice = "self") -> str:
    """Returns that there is none of it: "I have no chest pain"."""
    words = _speech(language)
    what = words.any.sub("", what.strip(" .。,，"))
    # "no feeding difficulties were noted" is a sentence already.
    return (words.sentence if words.verb.search(what) else words.none[voice]).format(what)


def answer(there: Sequence[str], absent: Sequence[str], language: Language, voice: Voice) -> str:
    """Returns sentences in the first person and things that are absent as one answer."""
    words, marks = _speech(language), MARKS[language]
    said = [capitalised(sentence) for sentence in there if sentence]
    absent = list(dict.fromkeys(rewritten(name, words.of_child[voice]) for name in absent if name))
    absent = [name for name in absent if not any(name != other and name in other for other in absent)]
    said[1:] = [sentence.removeprefix(words.subject) for sentence in said[1:]]
    if absent and said:
        said.append(words.also_none.format(words.between_none.join(absent)))
    elif absent:
        either = words.either.join([marks.item.join(absent[:-1]), absent[-1]] if len(absent) > 1 else absent)
        said.append(deny(either, language, voice))
    return (marks.stop + marks.blank if marks.blank else marks.comma).join(said) + marks.stop

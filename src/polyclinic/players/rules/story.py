"""What a patient can tell, clause by clause, and which of it answers a question.

Retrieval is by meaning: what is asked and what can be told are read into frames of a thing, a part of the body and how
it is, and a frame answers another where `meaning.fit` says so; a symptom of the lexicon is the same thing in whatever
words. What is asked in words that mean none of these is looked for by the words: stems for English, character bigrams
for Chinese, weighted by how rare they are in the patient's own story.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from polyclinic.knowledge.examination_words import EXAMINATION, LABORATORY_VALUE, MEASURED
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.content_words import terms
from polyclinic.language.language import Language, language_of
from polyclinic.language.word_lists import Pattern
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.lay_vocabulary import Frame, best_fit, read, vocabulary
from polyclinic.players.rules.sayings import WORDS


class Unsaid(msgspec.Struct, frozen=True):
    """A sentence of a section of the history that says that something is not known."""

    section: str
    text: str


_COMMA = re.compile("([,，])")
_unsaid = WORDS.section("unsaid", dict[str, Pattern])


@functools.lru_cache(maxsize=4096)
def is_not_known(text: str) -> bool:
    """Whether a text says only that something of the history is not known, in whichever language."""
    return _unsaid(language_of([text]))["not_known"].search(text) is not None


def without_unknown(sentence: str) -> tuple[list[str], str]:
    """Returns what a sentence says is not known, and the rest of it: "on insulin, allergies unknown" has both."""
    if is_not_known(sentence.strip()):
        return [sentence.strip()], ""
    pieces = _COMMA.split(sentence)
    unknown = [piece.strip() for piece in pieces[::2] if is_not_known(piece.strip())]
    if not unknown:
        return [], sentence
    kept = [at for at in range(0, len(pieces), 2) if pieces[at].strip() not in unknown]
    return unknown, "".join("".join(pieces[at - 1 : at + 1]) if n else pieces[at] for n, at in enumerate(kept))


ENOUGH = 0.55  # The share of a question's weight that a clause must cover to answer it

_KIN = frozenset({"mother", "father", "parent", "sibling", "grandparent", "other_relative"})
_HEAT = frozenset({"fever", "temperature"})
_HEADED = frozenset({"past", "medications", "allergies", "personal", "family", "other"})
"""The sections of the history that have a heading of their own."""
_SEVERAL = 3
GROWN_UP = 18  # years of age
_MOST = 0.75
_NEARLY_ALL = 0.95

_MEASURED = re.compile(f"[，,]{MEASURED.pattern}", re.IGNORECASE)


_cuts = WORDS.section("story", dict[str, Pattern])
_story_words = WORDS.section("story_words", dict[str, Any])


class Fact:
    """One thing that the patient can tell."""

    def __init__(
        self, number: int, section: str, sentence: int, text: str, *, denied: bool, whole: str, language: Language
    ) -> None:
        self.number, self.section, self.sentence = number, section, sentence
        self.text, self.denied, self.whole = text, denied, whole
        self.language = language
        self.symptoms: frozenset[str] = frozenset()
        self.direct: frozenset[str] = frozenset()
        self.named: frozenset[str] | None = None

    @functools.cached_property
    def terms(self) -> frozenset[str]:
        """Its content words."""
        return frozenset(terms(self.text, self.language))

    @functools.cached_property
    def frames(self) -> tuple[Frame, ...]:
        """What it means."""
        return read(self.text, self.language)

    @functools.cached_property
    def manners(self) -> frozenset[str]:
        """How it says that something is."""
        return frozenset(manner for frame in self.frames for manner in frame.manners)

    @functools.cached_property
    def of_family(self) -> bool:
        """Whether it tells of an illness of somebody else in the family."""
        if self.section == "family":
            return True
        kinds = vocabulary(self.language).kind
        of_kin = any(
            frame.wide & _KIN and frame.things and all(kinds[i] == "illnesses" for i in frame.things)
            for frame in self.frames
        )
        return of_kin and _cuts(self.language)["told_by"].search(self.text) is None

    @functools.cached_property
    def of_temperature(self) -> bool:
        """Whether it tells how hot the patient was."""
        return any(frame.wide & _HEAT or not _HEAT.isdisjoint(frame.functions) for frame in self.frames)

    @functools.cached_property
    def of_examination(self) -> bool:
        """Whether it reports an examination or a measured value."""
        return any(words.search(self.text) for words in (EXAMINATION, LABORATORY_VALUE, _MEASURED))

    @functools.cached_property
    def is_measured(self) -> bool:
        """Whether it holds a number that only a measurement can give."""
        return LABORATORY_VALUE.search(self.text) is not None

    @functools.cached_property
    def is_finding(self) -> bool:
        """Whether it tells what others found, think or plan, and not what the patient felt."""
        return self.of_examination or self.is_examined

    @functools.cached_property
    def of_vaccine(self) -> bool:
        """Whether it tells of a vaccination."""
        return any("vaccine" in frame.wide for frame in self.frames)

    @functools.cached_property
    def is_examined(self) -> bool:
        """Whether it reads like what others saw, heard or concluded."""
        return _cuts(self.language)["examined"].search(self.text) is not None


class Story:
    """Everything that a patient can tell, in order, and the weights of its words.

    Attributes:
        facts: what it can tell.
        unsaid: what its record says is not known.
    """

    def __init__(self, patient: Patient, lexicon: Lexicon) -> None:
        self.language: Language = patient.presentation.language
        age = patient.presentation.age
        self.is_child = age is not None and age < GROWN_UP
        read_out = list(_facts(patient, self.language))
        self.facts = [one for one in read_out if isinstance(one, Fact)]
        self.unsaid = tuple(one for one in read_out if isinstance(one, Unsaid))
        for fact in self.facts:
            mentions = lexicon.mentions(fact.text)
            fact.direct = frozenset(symptom for symptom, _ in mentions)
            fact.symptoms = fact.direct.union(*(lexicon.ancestors(s) for s, present in mentions if present))

    @functools.cached_property
    def _weights(self) -> dict[str, float]:
        counts = Counter(term for fact in self.facts for term in fact.terms)
        return {term: math.log((len(self.facts) + 1) / n + 1) for term, n in counts.items()}

    @functools.cached_property
    def topic(self) -> frozenset[str]:
        """The content words of the complaint."""
        return frozenset(t for f in self.facts if f.section == "complaint" for t in f.terms)

    def weight(self, term: str) -> float:
        """Returns how much a term says: more where it is rare, little where it only names the complaint."""
        weight = self._weights.get(term) or math.log(2 * (len(self.facts) + 1) + 1)
        return weight * 0.4 if term in self.topic else weight

    def cover(self, wanted: Iterable[str], fact: Fact) -> float:
        """Returns the share of the wanted terms' weight that a fact covers."""
        wanted = list(wanted)
        total = sum(map(self.weight, wanted))
        return sum(self.weight(t) for t in wanted if t in fact.terms) / total if total else 0.0

    def best(self, wanted: frozenset[str], among: Iterable[Fact] | None = None, enough: float = ENOUGH) -> list[Fact]:
        """Returns the facts that cover the wanted terms best, shorter ones first among equals."""
        if not wanted:
            return []
        among = self.facts if among is None else among
        scored = [(self.cover(wanted, f), -len(f.terms), -f.number, f) for f in among]
        scored = sorted((s for s in scored if s[0] >= enough), reverse=True)
        return [s[3] for s in scored if s[0] > scored[0][0] - 0.05][:2]

    def in_own_words(self, wanted: frozenset[str]) -> list[Fact]:
        """Returns the fact that says nearly what is wanted in the same words, where there is one."""
        if len(wanted) < _SEVERAL:
            return []
        found = []
        for fact in self.facts:
            share = len(wanted & fact.terms) / len(wanted)
            if share > _NEARLY_ALL or (share >= _MOST and len(wanted & fact.terms) >= _MOST * len(fact.terms)):
                found.append((share, -len(fact.terms), -fact.number, fact))
        return [max(found)[-1]] if found else []

    def with_symptom(self, symptom: str) -> list[Fact]:
        """Returns the facts that speak of a symptom: those that affirm it first, single symptoms before sentences."""
        facts = [f for f in self.facts if symptom in f.symptoms and not f.of_examination]
        return sorted(facts, key=lambda f: (f.denied, symptom not in f.direct, len(f.text)))

    def meaning(self, asked: Frame, among: Iterable[Fact] | None = None, most: int = 2) -> list[Fact]:
        """Returns the facts that answer a frame best; what affirms stands before what denies."""
        known, found = vocabulary(self.language), []
        hot = bool(asked.wide & _HEAT)
        own = among is None and "relative" not in asked.wide
        for fact in self.facts if among is None else among:
            if own and fact.of_family:
                continue
            fit, denied = best_fit(asked, fact.frames, known)
            if fit.likeness and (not fact.is_measured or (hot and fact.of_temperature)):
                found.append(
                    (
                        fit.likeness,
                        not (denied or fact.denied),
                        not fact.is_finding,
                        fit.besides,
                        -len(fact.text),
                        -fact.number,
                        fact,
                    )
                )
        found.sort(reverse=True)
        return [one[-1] for one in found if one[:4] == found[0][:4] or most > 2][:most]

    def section(self, *names: str) -> list[Fact]:
        """Returns the facts of some sections."""
        return [f for f in self.facts if f.section in names]


def _facts(patient: Patient, language: Language) -> Iterator[Fact | Unsaid]:
    cuts, seen, number, sentence = _cuts(language), set(), 0, 0
    sections = (("complaint", patient.presentation.complaint), *patient.history.sections())
    for section, text in (*sections, ("about", patient.presentation.about)):
        for read_out in cuts["sentence"].split(text):
            sentence += 1
            unknown, whole = without_unknown(read_out) if section in _HEADED else ([], read_out)
            yield from (Unsaid(section, one) for one in unknown)
            if not whole.strip() or cuts["not_told"].search(whole.strip()):
                continue
            for named, denied in _clauses(whole, language):
                clause = named
                if section == "allergies" and not denied and cuts["substance"].fullmatch(named):
                    # A chart writes the substance alone, and what comes of it in brackets.
                    clause = _story_words(language)["allergic_to"].format(named)
                if clause.casefold() not in seen and not cuts["clause_not_told"].search(clause):
                    seen.add(clause.casefold())
                    yield Fact(number, section, sentence, clause, denied=denied, whole=whole.strip(), language=language)
                    number += 1


def _clauses(whole: str, language: Language) -> Iterator[tuple[str, bool]]:
    """Splits a sentence into clauses, each with whether it is the thing denied."""
    cuts = _cuts(language)
    for clause in cuts["clause"].split(whole):
        text = cuts["label"].sub("", clause.strip(" .,\t\r\n\u3000"))
        begun = cuts["denial"].match(text)
        rest = text[begun.end() :] if begun else ""
        if rest and not cuts["undeniable"].match(rest):
            yield from ((item, True) for item in _items(rest, language))
        elif text:
            yield text, False


def _items(text: str, language: Language) -> list[str]:
    cuts = _cuts(language)
    items = [cuts["item_tail"].sub("", item.strip(" .")) for item in cuts["item"].split(text)]
    if (shared := cuts["shared_head"].match(items[0])) is not None:
        # "no changes in stool or bowel habits" denies changes in both.
        items[1:] = [item if cuts["shared_head"].match(item) else f"{shared[0]}{item}" for item in items[1:]]
    for tail in _story_words(language)["shared_tails"]:
        if items[-1].endswith(tail):
            items = [item if item.endswith(tail) else item + tail for item in items]
    return [item for item in items if item and not cuts["no_item"].match(item)]

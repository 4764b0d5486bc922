"""Treatment plans in words: a measure as a line, with the drugs of which one is given, what for, and when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from polyclinic.knowledge.body import read_body
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import (
    Criterion,
    Disease,
    Drug,
    DueWhen,
    Examination,
    Item,
    Measure,
    Plan,
    Prescription,
    Symptom,
)
from polyclinic.knowledge.examination_words import WORDS
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import Pattern

_HOURS = 24
_GROWN = 16  # years of age from which on a dose is an adult's


plan_words = WORDS.section("plans", dict[str, str])
"""Returns the words of plans in a language."""

_names = WORDS.section("plan_names", dict[str, dict[str, str]])
_patterns = WORDS.section("plan_patterns", dict[str, Pattern])


class PlanVocabulary(NamedTuple):
    """What plans name by its id."""

    drugs: Mapping[str, Drug]
    examinations: Mapping[str, Examination]
    items: Mapping[str, Item]
    symptoms: Mapping[str, Symptom]


def in_words(plan: Plan, vocabulary: PlanVocabulary) -> Plan:
    """Returns a plan whose measures stand as lines in both languages too."""
    lines: dict[Language, tuple[str, ...]] = {}
    for language in ("en", "zh"):
        sayer = MeasureWords(vocabulary, language)
        lines[language] = tuple(sayer.measure(measure) for measure in plan.measures)
    return msgspec.structs.replace(plan, **lines)


class MeasureWords:
    """Says measures in a language; to somebody grown up, by `age` in years, without the doses of children."""

    def __init__(self, vocabulary: PlanVocabulary, language: Language, age: float | None = None) -> None:
        self._grown = age is not None and age >= _GROWN
        self._of, self._language, self._say = vocabulary, language, plan_words(language)
        self._names, self._patterns = _names(language), _patterns(language)

    def measure(self, measure: Measure) -> str:
        """Returns a measure as a plan has it: with all its alternatives, and when it is due."""
        options = []
        for option in measure.give:
            line, only = self.prescription(option), self._say["only"]
            options.append(line if option.when is None else only.format(prescription=line, when=self.when(option.when)))
        line = self._what(measure, self._say["or"].join(options))
        beside = [measure.why.get(self._language)] if measure.why is not None else []
        if measure.after:
            beside.append(self._say["after"].format(examinations=self.examinations(measure.after)))
        if measure.within is not None:
            beside.append(self._say["within"].format(minutes=measure.within))
        line = self._beside(line, beside)
        return line if measure.when is None else self._say["due"].format(when=self.when(measure.when), line=line)

    def done(self, measure: Measure, given: Prescription | None) -> str:
        """Returns a measure as it is carried out: with the one drug that is given, and no conditions."""
        line = self._what(measure, "" if given is None else self.prescription(given))
        return self._beside(line, [measure.why.get(self._language)] if measure.why is not None else [])

    def beside_taken(self, measure: Measure, given: Prescription, taken: str, *, new: bool) -> str:
        """Returns a measure of whose drugs somebody takes one, or one of its kind: what is taken goes on.

        With `new` the drug stands in for it as long as it is given.
        """
        return (self._say["for_now"] if new else self._say["goes_on"]).format(
            taken=taken, line=self.done(measure, given)
        )

    def not_begun(self, measure: Measure, given: Prescription | None, missing: tuple[str, ...]) -> str:
        """Returns that a measure waits for examinations."""
        line = self._what(measure, "" if given is None else self._drug(given))
        return self._say["not_begun"].format(line=line, examinations=self.examinations(missing))

    def prescription(self, prescription: Prescription) -> str:
        """Returns a drug with its route and dose."""
        name, dose = self._drug(prescription), prescription.dose.get(self._language)
        if self._grown:
            dose = self._patterns["of_child"].sub("", dose)
        if self._patterns["said"].search(name):
            return self._say["drug_alone"].format(drug=name, dose=dose)
        return self._say["drug"].format(drug=name, route=self._names["routes"][prescription.route], dose=dose)

    def examinations(self, ids: tuple[str, ...]) -> str:
        """Returns the names of examinations."""
        return MARKS[self._language].item.join(self._of.examinations[id].name.get(self._language) for id in ids)

    def when(self, when: DueWhen) -> str:
        """Returns when something is due."""
        return self._say["join"].join(self._when(when))

    def criterion(self, criterion: Criterion, *, inside: bool = False) -> str:
        """Returns a condition; in brackets where it has parts and stands inside another."""
        say, parts = self._say, criterion.parts()
        if not parts:
            return self._leaf(criterion)
        if criterion.count is not None:
            listed = MARKS[self._language].item.join(self.criterion(part) for part in parts)
            text = say["count"].format(count=criterion.count, parts=listed)
        elif criterion.at_most is not None:
            listed = MARKS[self._language].item.join(self.criterion(part) for part in parts)
            text = say["at_most"].format(count=criterion.at_most, parts=listed)
        else:
            joined = say["and"] if criterion.all else say["either"]
            text = joined.join(self.criterion(part, inside=len(parts) > 1) for part in parts)
        return say["bracket"].format(part=text) if inside and len(parts) > 1 else text

    def _drug(self, prescription: Prescription) -> str:
        return self._of.drugs[prescription.drug].name.get(self._language)

    def _what(self, measure: Measure, drugs: str) -> str:
        text = measure.procedure or measure.advice or measure.monitoring
        return drugs if text is None else text.get(self._language)

    def _beside(self, line: str, beside: list[str]) -> str:
        return self._say["of"].format(line=line, beside=self._say["beside"].join(beside)) if beside else line

    def _when(self, when: DueWhen) -> Iterator[str]:
        say = self._say
        if when.age_at_least is not None and when.age_below is not None:
            yield say["ages"].format(first=when.age_at_least, age=when.age_below)
        elif when.age_at_least is not None:
            yield say["age_at_least"].format(age=when.age_at_least)
        elif when.age_below is not None:
            yield say["age_below"].format(age=when.age_below)
        if when.sex is not None:
            yield self._names["sexes"][when.sex]
        if when.pregnant is not None:
            yield say["pregnant"] if when.pregnant else say["not_pregnant"]
        if when.days_at_most is not None:
            days = when.days_at_most
            yield say["days"].format(days=days) if days >= 1 else say["hours"].format(hours=round(days * _HOURS, 1))
        if when.finding is not None:
            yield say["finding"].format(finding=self.criterion(when.finding))

    def _leaf(self, leaf: Criterion) -> str:
        say, language = self._say, self._language
        if leaf.symptom:
            return say["symptom"].format(name=self._of.symptoms[leaf.symptom].name.get(language))
        item = self._of.items[leaf.quantity]
        name = item.name.get(language)
        if leaf.one_of:
            states = say["either"].join(item.values[state].get(language) for state in leaf.one_of)
            return say["states"].format(name=name, states=states)
        if leaf.abnormal:
            return (say["high"] if leaf.abnormal == "high" else say["low"]).format(name=name)
        written = self._names["units"].get(item.unit, item.unit)
        unit = say["unit"].format(unit=written) if written else ""
        if leaf.at_least is not None and leaf.below is not None:
            return say["between"].format(name=name, low=leaf.at_least, high=leaf.below, unit=unit)
        if leaf.at_least is not None:
            return say["at_least"].format(name=name, low=leaf.at_least, unit=unit)
        return say["below"].format(name=name, high=leaf.below, unit=unit)


_OLDEST = 130  # years

Problem = tuple[str, str]
"""What is wrong, and the field that it stands in."""


def unlinked_plans(disease: Disease, vocabulary: PlanVocabulary) -> Iterator[Problem]:
    """Yields what is wrong with the plans of a disease so that they cannot be used, each with its field."""
    looked_at = {*disease.findings, *disease.examinations}
    for severity in SEVERITIES:
        plan, of_plan = disease.plan(severity), f"$.treatment.{severity}"
        if plan.en or plan.zh:
            yield "has lines; they are made of its measures", of_plan
        for number, measure in enumerate(plan.measures):
            field = f"{of_plan}.measures[{number}]"
            if problem := measure.problem():
                yield problem, field
            for place, prescription in enumerate(measure.give):
                if prescription.drug not in vocabulary.drugs:
                    yield _unknown("drug", prescription.drug, vocabulary.drugs), f"{field}.give[{place}].drug"
                yield from _when(prescription.when, f"{field}.give[{place}].when", vocabulary)
            yield from _when(measure.when, f"{field}.when", vocabulary)
            for examination in measure.after:
                if examination not in vocabulary.examinations:
                    yield _unknown("examination", examination, vocabulary.examinations), f"{field}.after"
                elif examination not in looked_at:
                    yield f"waits for {examination!r}, which is not indicated", f"{field}.after"
            if measure.within is not None and measure.within <= 0:
                yield f"{measure.within} minutes; must be above 0", f"{field}.within"


def _when(when: DueWhen | None, field: str, vocabulary: PlanVocabulary) -> Iterator[Problem]:
    if when is None:
        return
    first, below = when.age_at_least or 0.0, _OLDEST if when.age_below is None else when.age_below
    if not 0 <= first < below <= _OLDEST:
        yield f"impossible ages: from {first:g} to below {below:g}; needs 0 <= first < last <= {_OLDEST}", field
    if when.days_at_most is not None and when.days_at_most <= 0:
        yield f"{when.days_at_most:g} days; must be above 0", f"{field}.days_at_most"
    if when == DueWhen():
        yield "says no condition; leave it out", field
    if when.finding is not None:
        yield from ((problem, f"{field}.finding") for problem in criterion_problems(when.finding, vocabulary))


def criterion_problems(criterion: Criterion, vocabulary: PlanVocabulary) -> Iterator[str]:
    """Yields what is wrong with a condition, or with one in it: its form, or what it names."""
    body = read_body()
    for node in criterion.nodes():
        item = vocabulary.items.get(node.quantity)
        if problem := node.problem():
            yield problem
        elif node.symptom:
            if node.symptom not in vocabulary.symptoms:
                yield _unknown("symptom", node.symptom, vocabulary.symptoms)
        elif not node.quantity:
            continue
        elif item is None:
            yield _unknown("quantity", node.quantity, vocabulary.items)
        elif node.quantity in body.items:
            yield f"{node.quantity!r} reads another quantity; name that: {body.items[node.quantity].of!r}"
        elif node.quantity in body.derived:
            yield f"{node.quantity!r} is made of others; name one of: {', '.join(body.derived[node.quantity].of)}"
        elif unknown := sorted(set(node.one_of) - set(item.values)):
            yield f"no state {unknown[0]!r} of {node.quantity}; known: {', '.join(item.values)}"
        elif item.numeric == bool(node.one_of):
            yield f"{node.quantity!r} is {'a number' if item.numeric else 'a text: needs one_of'}"


def _unknown(what: str, id: str, known: Iterable[str]) -> str:
    return f"no {what} {id!r}; known: {', '.join(sorted(known))}"

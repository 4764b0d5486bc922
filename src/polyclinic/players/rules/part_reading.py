"""Reading one doctor's part of a record by rules: what is told and what was found, each with the words that say so.

A result is known by the knowledge's name of its item, and its value by the knowledge's own wording or by a number in
the item's unit. Reports that hold several results as text are taken apart at the names of examinations and at
semicolons. What is in other words is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from polyclinic.cases.record import Finding
from polyclinic.evidence_tree.parts import RecordPart
from polyclinic.evidence_tree.values import measured
from polyclinic.knowledge.entries import Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.several import Observation, Shown, SymptomTold
from polyclinic.language.language import Language

_CHUNK = re.compile(r"[;；]")
_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?)")
_SENTENCE = re.compile(r"[^.;\n。；]+")
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")


class Observed(NamedTuple):
    """An observation, and the words of the record that it rests on; "" where it rests on nothing being said.

    Normal is a result in its reference range, a text of nothing but what is usual, and a symptom that is not there.
    """

    observation: Observation
    quote: str
    normal: bool = False


class PartReader:
    """Reads parts of records in one language."""

    def __init__(self, knowledge: Knowledge, language: Language) -> None:
        self._knowledge, self._language = knowledge, language
        self._lexicon = lexicon_of(knowledge, language)
        self._examinations = {name.casefold(): e for e in knowledge.examinations.values() for name in e.names()}
        self._items: dict[str, list[tuple[Examination, Item]]] = {}
        for examination in knowledge.examinations.values():
            for item in examination.items:
                for name in item.names():
                    self._items.setdefault(name.casefold(), []).append((examination, item))
        names = sorted(self._examinations, key=len, reverse=True)
        # A report names the examination before its results: "Chest X-ray: clear lungs".
        self._headings = re.compile(
            rf"(?:^|(?<=[\s。；;.]))({'|'.join(map(re.escape, names))})\s*[:：]\s*", re.IGNORECASE
        )

    def read(self, part: RecordPart) -> list[Observed]:
        """Returns what stands in a part; of a symptom that is not spoken of, that it is not there."""
        observed = [*self._results(part)]
        if part.kind == "outpatient":
            observed += self._symptoms(part)
        # What stands in two places is one observation.
        return list({one.observation: one for one in reversed(observed)}.values())[::-1]

    def _symptoms(self, part: RecordPart) -> Iterator[Observed]:
        seen: dict[str, str] = {}
        denied: dict[str, str] = {}
        for text in part.texts:
            if text.finding is not None:
                continue
            for symptom, there in self._lexicon.mentions(text.text):
                if there:
                    seen.setdefault(symptom, self._words_of(symptom, text.text))
                else:
                    denied.setdefault(symptom, self._sentence_of(symptom, text.text))
        for symptom, words in list(seen.items()):
            for parent in self._lexicon.ancestors(symptom):
                seen.setdefault(parent, words)
        person = part.presentation
        for known in self._knowledge.symptoms.values():
            if known.id in seen:
                yield Observed(SymptomTold(known.id, True), seen[known.id])
            elif known.possible(person.age, person.sex) and (known.parent is None or known.parent in seen):
                yield Observed(SymptomTold(known.id, False), denied.get(known.id, ""), normal=True)

    def _words_of(self, symptom: str, text: str) -> str:
        """Returns the words by which a text speaks of a symptom, the longest there are."""
        folded = text.casefold()
        for word in sorted(self._knowledge.symptoms[symptom].words(self._language), key=len, reverse=True):
            at = folded.find(word.casefold())
            if at >= 0 and len(folded) == len(text):
                return text[at : at + len(word)]
        return ""

    def _sentence_of(self, symptom: str, text: str) -> str:
        sentences = (match[0].strip() for match in _SENTENCE.finditer(text))
        return next((one for one in sentences if self._words_of(symptom, one)), "")

    def _results(self, part: RecordPart) -> Iterator[Observed]:
        texts = {text.finding: text.text for text in part.texts if text.finding is not None}
        for finding, text in zip(part.findings, texts.values(), strict=True):
            known = self._item_of(finding)
            if known is not None:
                bare = msgspec.structs.replace(finding, item="").result(self._language)
                shown = self._value(*known, bare)
                if shown is not None:
                    yield self._seen(shown, text)
                    continue
            if isinstance(finding.value, str):
                # "Otoscopy" may be a part of the physical examination by its label.
                yield from self._report(f"{finding.item}: {finding.value}" if finding.item else finding.value)

    def _item_of(self, finding: Finding) -> tuple[Examination, Item] | None:
        examination = self._examinations.get(finding.examination.casefold())
        if examination is not None and not finding.item and len(examination.items) == 1:
            return examination, examination.items[0]
        among = self._items.get(finding.item.casefold(), [])
        if examination is not None:
            among = [one for one in among if one[0].id == examination.id]
        return among[0] if len(among) == 1 else None

    def _report(self, report: str) -> Iterator[Observed]:
        """Yields the results of a text that names examinations and then what they showed."""
        headings = list(self._headings.finditer(report))
        before = report[: headings[0].start()] if headings else report
        for chunk in _CHUNK.split(before):
            # Without the examination's name an item has to be known by its own.
            quote = chunk.strip().rstrip(".。")
            among = [self._items[name] for name in self._items if quote.casefold().startswith(name)]
            known = {examination.id: examination for named in among for examination, _ in named}
            if len(known) == 1 and (shown := self._result_in(next(iter(known.values())), quote)) is not None:
                yield self._seen(shown, quote)
        ends = [heading.start() for heading in headings[1:]] + [len(report)]
        for heading, end in zip(headings, ends, strict=False):
            examination = self._examinations[heading[1].casefold()]
            body = report[heading.end() : end]
            for number, chunk in enumerate(_CHUNK.split(body)):
                quote = chunk.strip().rstrip(".。")
                shown = self._result_in(examination, quote)
                if shown is None:
                    continue
                # A number alone says nothing; the name of the one examination that it is of stands before it.
                bare = number == 0 and quote[:1].isdigit()
                yield self._seen(shown, f"{heading[0]}{chunk}".strip().rstrip(".。") if bare else quote)

    def _seen(self, shown: Shown, quote: str) -> Observed:
        """Returns a result with its words, which say its reference range where the record has one."""
        if isinstance(shown.value, frozenset):
            return Observed(shown, quote, normal=not shown.value)
        said = Finding(examination="", value=shown.value, reference=" ".join(_BRACKETS.findall(quote)[-1:]))
        value = measured(said)
        if value is not None and value.standing is not None:
            return Observed(shown, quote, normal=value.standing == "normal")
        items = self._knowledge.examinations[shown.examination].items
        item = next(one for one in items if one.id == shown.item)
        low, high = item.low, item.high
        inside = (low is None or shown.value >= low) and (high is None or shown.value <= high)
        return Observed(shown, quote, normal=inside and (low, high) != (None, None))

    def _result_in(self, examination: Examination, text: str) -> Shown | None:
        folded = text.casefold()
        named = [
            (name, item) for item in examination.items for name in item.names() if folded.startswith(name.casefold())
        ]
        if named:
            name, item = max(named, key=lambda one: len(one[0]))
            return self._value(examination, item, text[len(name) :].lstrip(" :："))
        return self._value(examination, examination.items[0], text) if len(examination.items) == 1 else None

    def _value(self, examination: Examination, item: Item, text: str) -> Shown | None:
        if item.numeric:
            number = _NUMBER.match(text)
            if number is None:
                return None
            value = float(number[1])
            written = Finding(examination="", value=value, unit=item.unit).result(self._language)
            # In another unit it would be another number.
            return Shown(examination.id, item.id, value) if text.strip().startswith(written) else None
        found, rest = set(), text.casefold()
        wordings = {name.get(self._language).casefold(): value for value, name in item.values.items()}
        for wording in sorted(wordings, key=len, reverse=True):
            if wording in rest:
                rest = rest.replace(wording, " ")
                found.add(wordings[wording])
        if not found:
            return None
        return Shown(examination.id, item.id, frozenset(found - {next(iter(item.values))}))

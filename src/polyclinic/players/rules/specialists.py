"""The doctors of Tree-of-Reasoning by rules: each reads its part of the record by the knowledge, and nothing else.

A doctor suspects what its part speaks for, in log odds beside its other suspicions (`SeveralReader`), and writes the
weight into the reasoning and the words of the record that carry it under it. To another doctor it says what its own
part weighs for or against the diagnoses in that doctor's tree. After a round it takes the lines over that were said to
it, weighs its own part anew beside the diagnoses that the team by then holds, and drops what more speaks against than
for. The head adds up the lines of all trees, one line a doctor. Of one another's parts they know what was said.

Without trees they name diagnoses, and no weights or evidence. What is looked up is not read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.cases.record import Finding
from polyclinic.evidence_tree.claims import measured
from polyclinic.evidence_tree.meeting import Concluded, Meeting, Opinion
from polyclinic.evidence_tree.sources import Kind, RecordPart
from polyclinic.evidence_tree.tree import EvidenceTree, Reasoning, Suspected, merge
from polyclinic.knowledge.entries import Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.knowledge.several import Observation, SeveralReader, Shown, SymptomTold, Weighed
from polyclinic.language.clauses import at_marks
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.sayings import WORDS
from polyclinic.retrieval.retriever import Passage

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
                    sentences = (match[0].strip() for match in _SENTENCE.finditer(text.text))
                    said = next((one for one in sentences if self._words_of(symptom, one)), "")
                    denied.setdefault(symptom, said)
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
        before, parts = at_marks(report, self._headings.finditer(report))
        for chunk in _CHUNK.split(before):
            # Without the examination's name an item has to be known by its own.
            quote = chunk.strip().rstrip(".。")
            among = [self._items[name] for name in self._items if quote.casefold().startswith(name)]
            known = {examination.id: examination for named in among for examination, _ in named}
            if len(known) == 1 and (shown := self._result_in(next(iter(known.values())), quote)) is not None:
                yield self._seen(shown, quote)
        for heading, body in parts:
            examination = self._examinations[heading[1].casefold()]
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


_SUSPECTED = 1.0  # log odds from which a doctor names a disease
_WORTH_SAYING = 0.5  # log odds, for or against, of which another is told
_HELD = 2.6  # log odds from which the team takes a diagnosis to be settled
_CHOSEN = 0.5  # log odds from which the head chooses an option: of those that are shown, a third are right
_CARRIES = 0.3  # log odds from which an observation is evidence
_PIECES = 6
_BETWEEN = " | "


_words = WORDS.section("specialists", dict[str, str])
_doctors = WORDS.section("specialists_named", dict[Kind, str])
_patterns = WORDS.section("specialists_read", dict[str, Pattern])


class _PartRead:
    """What a doctor makes of its part: weights by disease, and the words of the record that carry each."""

    def __init__(self, observed: Sequence[Observed], weighed: Weighed, ids: Sequence[str]) -> None:
        self.observed, self.weights = observed, weighed.weights
        self._row = {disease: place for place, disease in enumerate(ids)}
        self._parts = weighed.parts

    def evidence(self, disease: str, *, against: bool = False) -> tuple[str, ...]:
        """Returns the words that carry the weight, the heaviest first.

        What is normal speaks for no disease: it may weigh against another, and is evidence of that alone.
        """
        if not self.observed:
            return ()
        column = self._parts[:, self._row[disease]] * (-1 if against else 1)
        order = sorted(range(len(self.observed)), key=lambda place: -column[place])
        carrying = [
            self.observed[place].quote
            for place in order
            if column[place] > _CARRIES and (against or not self.observed[place].normal)
        ]
        return tuple(dict.fromkeys(filter(None, carrying)))[:_PIECES]


class RulesDoctors:
    """The four doctors and the head of one team, for any number of patients; see `polyclinic.evidence_tree.meeting`."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = with_pathology(knowledge)
        self._reader = SeveralReader(self._knowledge)
        self._part_reader = functools.cache(functools.partial(PartReader, self._knowledge))
        self._read = functools.lru_cache(maxsize=1024)(self._weigh)

    def _weigh(self, part: RecordPart, held: Iterable[str] | None = None) -> _PartRead:
        """Reads a part, alone or beside diagnoses that the team holds: what they explain speaks for no other."""
        # The outpatient doctor weighs age and sex; nobody else is told.
        person = part.presentation if part.kind == "outpatient" else None
        observed = self._part_reader(part.language).read(part) if held is None else self._read(part).observed
        seen = [one.observation for one in observed]
        weighed = self._reader.weigh(seen, person) if held is None else self._reader.beside(seen, held, person)
        return _PartRead(observed, weighed, self._reader.ids)

    async def read(self, part: RecordPart, passages: Sequence[Passage], *, trees: bool) -> Opinion:
        """Names what the part speaks for, the surest first."""
        del passages
        read, language = self._read(part), part.language
        ordered = sorted(read.weights, key=lambda disease: -read.weights[disease])
        suspected = [
            Suspected(self._name(disease, language), (line,))
            for disease in ordered
            if read.weights[disease] >= _SUSPECTED and (line := self._line(disease, part)) is not None
        ]
        tree = EvidenceTree(tuple(suspected))
        return tree if trees else self._plain([one.diagnosis for one in suspected], language)

    async def addressees(self, me: Kind, meeting: Meeting) -> Sequence[Kind]:
        """Speaks to those whose diagnoses its own part bears on, and who have not heard of that yet."""
        told = {one.to for one in meeting.remarks() if one.by == me}
        return [other for other in meeting.others(me) if other not in told and self._remark(me, other, meeting)]

    async def remark(self, me: Kind, to: Kind, meeting: Meeting) -> str:
        """Says what its own part weighs for and against the other's diagnoses."""
        return "\n".join(self._remark(me, to, meeting))

    def _remark(self, me: Kind, to: Kind, meeting: Meeting) -> list[str]:
        part, opinion = meeting.parts[me], meeting.opinions[to]
        words, read = _words(part.language), self._read(part)
        if not isinstance(opinion, EvidenceTree):
            against = [n for n in self._named(opinion) if read.weights[self._id(n)] <= -_WORTH_SAYING]
            said = words["plainly_against"].format(diagnoses=words["between"].join(against))
            return [said] if against and not any(one.text == said for one in meeting.remarks(to=to)) else []
        lines = []
        for one in opinion.suspected:
            disease = self._id(one.diagnosis)
            if disease not in read.weights or abs(read.weights[disease]) < _WORTH_SAYING:
                continue
            line = self._line(disease, part)
            if line is not None and line not in one.reasonings:
                evidence = _BETWEEN.join(line.evidence)
                lines.append(words["said"].format(diagnosis=one.diagnosis, analysis=line.analysis, evidence=evidence))
        return lines

    async def update(self, me: Kind, before: Opinion, meeting: Meeting) -> Opinion:
        """Takes over what others said to its diagnoses, and drops those that more speaks against than for."""
        language = meeting.parts[me].language
        heard = [line for one in meeting.remarks(to=me) for line in one.text.split("\n")]
        if not isinstance(before, EvidenceTree):
            refuted = {self._id(name) for line in heard for name in self._named(line)}
            return self._plain([name for name in self._named(before) if self._id(name) not in refuted], language)
        part, words = meeting.parts[me], _words(language)
        read = self._weigh(part, self._held(meeting))
        lines: dict[str, dict[str, Reasoning]] = {}
        for one in before.suspected:
            lines[self._id(one.diagnosis)] = {self._speaker(line, language): line for line in one.reasonings}
        for line in heard:
            name, said = self._heard(line, language)
            lines.setdefault(self._id(name), {})[self._speaker(said, language)] = said
        for disease, by in lines.items():
            own = self._line(disease, part, read) if disease in read.weights else None
            mine = by.pop(_doctors(language)[me], None)
            if own is None and mine is not None and by:
                # What others' diagnoses explain carries this one no more, and stays to be seen while others hold it.
                no_more = words["speaks_for"].format(doctor=_doctors(language)[me], weight="+0.0")
                own = Reasoning(no_more, mine.evidence)
            if own is not None:
                by[_doctors(language)[me]] = own
        total = {disease: sum(_weight(line, language) for line in by.values()) for disease, by in lines.items()}
        kept = sorted((disease for disease in lines if lines[disease] and total[disease] >= 0), key=lambda d: -total[d])
        names = {self._id(one.diagnosis): one.diagnosis for one in before.suspected}
        return EvidenceTree(
            tuple(
                Suspected(names.get(d) or self._name(d, language), tuple(lines[d][who] for who in sorted(lines[d])))
                for d in kept
            )
        )

    def _held(self, meeting: Meeting) -> list[str]:
        """Returns the diagnoses that the team holds, by what stands in the trees and was said to everybody's ears."""
        language = next(iter(meeting.parts.values())).language
        weights: dict[str, dict[str, float]] = {}
        for opinion in meeting.opinions.values():
            for one in opinion.suspected if isinstance(opinion, EvidenceTree) else ():
                for line in one.reasonings:
                    weights.setdefault(self._id(one.diagnosis), {})[self._speaker(line, language)] = _weight(
                        line, language
                    )
        for remark in meeting.remarks():
            for text in remark.text.split("\n"):
                name, line = self._heard(text, language)
                weights.setdefault(self._id(name), {})[self._speaker(line, language)] = _weight(line, language)
        return [disease for disease, by in weights.items() if sum(by.values()) >= _HELD]

    def _heard(self, text: str, language: Language) -> tuple[str, Reasoning]:
        """Returns the diagnosis and the line that one line of a remark holds."""
        before, between = (part.partition("{")[0] for part in _words(language)["said"].split("}")[1:3])
        name, _, rest = text.partition(before)
        analysis, _, evidence = rest.partition(between)
        return name, Reasoning(analysis, tuple(evidence.split(_BETWEEN)))

    def _speaker(self, line: Reasoning, language: Language) -> str:
        """Returns whose findings a line speaks of."""
        doctors = _doctors(language).values()
        return next((doctor for doctor in doctors if doctor in line.analysis), "")

    async def conclude(self, meeting: Meeting, question: Question) -> Concluded:
        """Adds up the lines of all trees, and chooses the options that they speak for; the surest one at least."""
        language = next(iter(meeting.parts.values())).language
        options = {self._id(text): key for key, text in question.options.items()}
        opinions = list(meeting.opinions.values())
        trees = [one for one in opinions if isinstance(one, EvidenceTree)]
        # What a doctor says in its own tree counts before what others remember of it.
        mine = [self._own(kind, opinion) for kind, opinion in meeting.opinions.items()]
        merged = merge([*mine, *trees], same=self._id)
        weights = {
            self._id(one.diagnosis): sum(_weight(line, language) for line in self._once(one, language).reasonings)
            for one in merged.suspected
        }
        for opinion in opinions:
            if isinstance(opinion, str):
                weights |= dict.fromkeys(map(self._id, self._named(opinion)), _CHOSEN)
        among = [disease for disease in weights if disease in options]
        best = max(among, key=lambda disease: weights[disease], default=next(iter(options)))
        holds = {disease for disease in among if weights[disease] >= _CHOSEN} | {best}
        if not question.several:
            holds = {best}
        answers = frozenset(options[disease] for disease in holds)
        if not meeting.trees:
            names = [question.options[key] for key in question.options if key in answers]
            return Concluded(opinion=self._plain(names, language), answers=answers)
        kept = sorted(
            (
                one
                for one in merged.suspected
                if weights[self._id(one.diagnosis)] >= _CHOSEN or self._id(one.diagnosis) in holds
            ),
            key=lambda one: -weights[self._id(one.diagnosis)],
        )
        return Concluded(opinion=EvidenceTree(tuple(self._once(one, language) for one in kept)), answers=answers)

    def _once(self, one: Suspected, language: Language) -> Suspected:
        """Returns a diagnosis with one line a doctor, the one that counts: what others remember of it repeats it."""
        first: dict[str, Reasoning] = {}
        for line in one.reasonings:
            first.setdefault(self._speaker(line, language), line)
        return Suspected(one.diagnosis, tuple(first.values()))

    def _own(self, kind: Kind, opinion: Opinion) -> EvidenceTree:
        """Returns a doctor's tree with the lines on its own findings alone."""
        suspected = []
        for one in opinion.suspected if isinstance(opinion, EvidenceTree) else ():
            names = {_doctors(language)[kind] for language in LANGUAGES}
            own = tuple(line for line in one.reasonings if any(name in line.analysis for name in names))
            suspected += [Suspected(one.diagnosis, own)] if own else []
        return EvidenceTree(tuple(suspected))

    def _line(self, disease: str, part: RecordPart, read: _PartRead | None = None) -> Reasoning | None:
        """Returns what a part weighs for or against a disease; None where no words of the record carry it."""
        read, words = read or self._read(part), _words(part.language)
        weight = read.weights[disease]
        evidence = read.evidence(disease, against=weight < 0)
        said = words["speaks_for"] if weight >= 0 else words["speaks_against"]
        told = said.format(doctor=_doctors(part.language)[part.kind], weight=f"{weight:+.1f}")
        return Reasoning(told, evidence) if evidence else None

    def _name(self, disease: str, language: Language) -> str:
        return self._knowledge.diseases[disease].name.get(language)

    @functools.lru_cache(maxsize=1024)  # noqa: B019
    def _id(self, name: str) -> str:
        known = self._knowledge.disease_named(name)
        return name.casefold() if known is None else known.id

    def _plain(self, names: Sequence[str], language: Language) -> str:
        words = _words(language)
        return words["suspects"].format(diagnoses=words["between"].join(names)) if names else words["nothing"]

    def _named(self, text: str) -> list[str]:
        """Returns the names of diseases that a sentence of these doctors holds."""
        listed = re.split(r"[;；]", text.partition(":")[2] or text.partition("：")[2])
        names = [name.strip().rstrip(".。") for name in listed]
        return [name for name in names if self._id(name) in self._knowledge.diseases]


def _weight(line: Reasoning, language: Language) -> float:
    match = _patterns(language)["weight"].search(line.analysis)
    return 0.0 if match is None else float(match[1])

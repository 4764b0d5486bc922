"""The patient: knows how it came and what it has lived through, never what this visit is to find out.

AI Hospital's patient (§2.4) leaves examinations to the examiner; AIE's (§4), on an online visit without one, also holds
the findings and gives them when asked. `Parted` divides a record into what the patient can tell and the results told in
its history.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.patient_record import NotedConsultation, PatientRecord
from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation, Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.terms import result_terms
from polyclinic.cases.withhold import withhold
from polyclinic.events import Role
from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.knowledge.examination_words import EXAMINATION, LABORATORY_VALUE, MEASURED
from polyclinic.knowledge.named_in import named_in
from polyclinic.language.folding import Folded, fold_term
from polyclinic.language.language import MARKS, Language, capitalised, chinese_characters, is_chinese
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.players.player import Mind, PlayedRole
from polyclinic.players.staging import OURS, Staging

_SAYS_AS_MUCH = (Relation.SAME, Relation.NARROWER)


# Patient and examiner of a visit are made of the same record, one after the other.
@functools.lru_cache(maxsize=64)
def secret_of(record: Record, withheld: tuple[str, ...]) -> tuple[str, ...]:
    """Returns what must not be said of a record: the names, and what stands for them in its history.

    What the doctor reads at the door is none of it.
    """
    door = [Folded(text) for text in _at_the_door(record)]
    names = tuple(name for name in withheld if not any(text.find(fold_term(name)) >= 0 for text in door))
    said = in_other_words((text for _, text in record.history.sections()), record, withheld)
    return tuple(dict.fromkeys((*names, *said)))


def in_other_words(texts: Iterable[str], record: Record, withheld: tuple[str, ...]) -> tuple[str, ...]:
    """Returns what names one of the withheld in texts in whatever words, as it stands there.

    What says no more than what the doctor reads at the door is none of it.
    """
    if not withheld:
        return ()
    open_to_all = [said.text for text in _at_the_door(record) for said in named_in(text, withheld) if said.is_sure]
    found = dict.fromkeys(said.text for text in texts for said in named_in(text, withheld) if said.is_sure)
    return tuple(said for said in found if not any(relation(at_door, said) in _SAYS_AS_MUCH for at_door in open_to_all))


def _at_the_door(record: Record) -> tuple[str, str]:
    return record.presentation.complaint, record.presentation.about


WORDS = WordLists(Path(__file__).with_name("words"), examination=EXAMINATION.pattern)  # The words of this room

_SENTENCE = re.compile(r"(?<=[。；;！？\n])|(?<=[.!?])(?=\s)")
_CLAUSE = re.compile(r"(?<=[，、])|(?<=,)(?=\s)|(?=【)")
_RESUMED = re.compile(
    r"\s*(?:患者|患儿|遂|为求|为进一步|因|自觉|自述|近|此后|之后|后来|自发病|病程中|发病以来|服用|口服|给予?|予|经|入院|[门急]诊(?:拟|以|考虑|收)|随后|随即|于是|故|转[至入]|现为|目前|来我?院|收[住入]"
    r"|\d+\s*[个余多]*(?:分钟|小时|天|日|周|月|年)|(?:and |but |so )?(?:she|he|they|the patient|the pain|i)\b)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"^\s*(?:(?:and|but|so|although|while|whereas)\s+|[但而且并]+(?=[\u3400-\u9fff]))", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]$")
_MARKS = " \t\r\n，、,。.；;"
_HERE = frozenset(("symptoms", "present", "review"))
_LEAST_ALIKE = 4  # letters of a clause that stands in two places


_words = WORDS.section("results", dict[str, Pattern])
_finding_names = WORDS.section("finding_names", dict[str, str])


class Parted(NamedTuple):
    """What becomes of a record's history."""

    history: History  # what the patient can tell
    results: tuple[Finding, ...]  # what the examiner holds of it, beside the record's findings; nothing outside a ward
    withheld: tuple[str, ...]  # the names that must not be said: those that the doctor does not read at the door


def part(record: Record, *, setting: Setting = "ward", withheld: tuple[str, ...] = ()) -> Parted:
    """Divides the history of a record between patient and examiner."""
    secret = secret_of(record, withheld)
    texts, results = _Parting(record, secret).part() if setting == "ward" else (_texts(record.history), ())
    told: dict[str, list[str]] = {}
    for section, text in texts:
        told.setdefault(section, []).append(withhold(text, secret, section=section))
    symptoms = tuple(text for text in told.pop("symptoms", ()) if text.strip())
    history = History(symptoms=symptoms, **{section: text for section, (text,) in told.items()})
    return Parted(history, results, secret)


def reported_results(record: Record, *, withheld: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    """Returns the `results` of `part` in a ward."""
    return _Parting(record, secret_of(record, withheld)).part()[1]


def without_results(text: str, values: tuple[str, ...] = ()) -> str:
    """Returns the text without the clauses that report an examination or its result.

    What follows such a clause in the same sentence is taken to go on with it, until a clause begins anew with a time or
    with the patient.
    """
    sentences = _runs(text, tuple(map(fold_term, values)))
    told = "".join(_joined(sentence, [run for run in sentence if not run.reports]) for sentence in sentences).strip()
    # A value may hold commas, and so stand across clauses that each look harmless.
    return "" if any(value in told for value in values) else told


def distinctive_results(findings: Iterable[Finding], text: str) -> tuple[str, ...]:
    """Returns the results that stand in a text, folded, and that can only be those of the findings."""
    texts = {f.value for f in findings if isinstance(f.value, str)}
    pieces = dict.fromkeys(piece for value in texts for piece in _distinctive_pieces(value))
    plain = Folded(text).plain if pieces else ""
    return tuple(sorted(piece for piece in pieces if piece in plain))


@functools.lru_cache(maxsize=4096)
def _distinctive_pieces(value: str) -> tuple[str, ...]:
    """Returns a result and those of its sentences that can only be that result, folded."""
    whole = (fold_term(value),) if _is_distinctive(value) else ()
    return (*whole, *result_terms((Finding(examination="", value=value),)))


def _texts(history: History) -> list[tuple[str, str]]:
    """Returns all sections of a history, each symptom as a section of its own."""
    texts = [(f, getattr(history, f)) for f in History.__struct_fields__ if f != "symptoms"]
    return [*(("symptoms", symptom) for symptom in history.symptoms), *texts]


# Patient and examiner of a visit are made of the same record, one after the other, and drawn records share sentences.
@functools.lru_cache(maxsize=1024)
def _reports(text: str, language: Language) -> bool:
    """Whether a text may report an examination or its result."""
    return any(words.search(text) for words in (EXAMINATION, LABORATORY_VALUE, _words(language)["sign"]))


@dataclass(eq=False)
class _Run:
    """Clauses in a row that all report results, or none of which does."""

    reports: bool
    clauses: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.clauses)


def _runs(text: str, values: tuple[str, ...], *, signs: bool = True) -> list[list[_Run]]:
    """Returns the sentences of a text as runs; with `signs`, what only an examination finds counts as reported."""
    words = _words("zh" if is_chinese(text) else "en")
    reporting = (EXAMINATION, LABORATORY_VALUE, *((words["sign"],) if signs else ()))
    sentences: list[list[_Run]] = []
    for sentence in _SENTENCE.split(text) if text.strip() else ():
        clauses: list[str] = []
        for clause in _CLAUSE.split(sentence):
            # A value behind a comma belongs to the name before it ("血清锌，9.6umol/L").
            if clauses and MEASURED.match(clause):
                clauses[-1] += clause
            else:
                clauses.append(clause)
        held, runs, reports = _holding(clauses, values), list[_Run](), False
        for order, clause in enumerate(clauses):
            if order in held or any(pattern.search(clause) for pattern in reporting):
                reports = True
            elif reports and _RESUMED.match(clause):
                reports = bool(words["lead"].search(clauses[order - 1]) or words["observed"].search(clause))
            if not runs or runs[-1].reports is not reports:
                runs.append(_Run(reports))
            runs[-1].clauses.append(clause)
        sentences.append(runs)
    return sentences


def _holding(clauses: list[str], values: tuple[str, ...]) -> set[int]:
    """Returns which clauses hold a value, each alone, or else the fewest in a row together."""
    folded = Folded("".join(clauses))
    held: set[int] = set()
    for value in (value for value in values if folded.find(value) >= 0):
        for n in range(1, len(clauses) + 1):
            rows = [range(begin, begin + n) for begin in range(len(clauses) - n + 1)]
            found = [row for row in rows if Folded("".join(clauses[row.start : row.stop])).find(value) >= 0]
            if found:
                held.update(*(found if n == 1 else found[:1]))
                break
    return held


class _Parting:
    """Divides one record's history in a ward."""

    def __init__(self, record: Record, secret: tuple[str, ...]) -> None:
        self._findings, self._secret = record.findings, secret
        self._language = record.presentation.language
        self._words = _words(self._language)
        self._texts = _texts(record.history)
        self._values = distinctive_results(record.findings, "\n".join(text for _, text in self._texts))

    def part(self) -> tuple[list[tuple[str, str]], tuple[Finding, ...]]:
        """Returns the sections of the history without what the examiner holds, and that."""
        if not self._values and not any(_reports(text, self._language) for _, text in self._texts):
            return self._texts, ()
        # A symptom is felt, by whatever hand it was found.
        parted = [(name, _runs(text, self._values, signs=name != "symptoms")) for name, text in self._texts]
        moved: dict[int, _Run] = {}
        for section, sentences in parted:
            moved |= {id(run): run for run in self._of_this_visit(section, sentences)}
        # What the examiner is given in the same words, the patient does not tell as well.
        given = {clause for run in moved.values() for clause in map(_bare, run.clauses) if len(clause) >= _LEAST_ALIKE}
        every = [
            run
            for section, sentences in parted
            for sentence in sentences
            for run in sentence
            if run.reports and not (section == "symptoms" and self._is_felt(run))
        ]
        moved |= {id(run): run for run in every if any(_bare(clause) in given for clause in run.clauses)}
        told = [
            (section, "".join(_joined(s, [run for run in s if id(run) not in moved]) for s in sentences).strip())
            for section, sentences in parted
        ]
        ordered = [run for run in every if id(run) in moved]
        return told, tuple(dict.fromkeys(f for run in ordered for f in self._as_findings(run)))

    def _of_this_visit(self, section: str, sentences: list[list[_Run]]) -> Iterator[_Run]:
        """Yields the runs that report what this visit finds, or what nobody may name."""
        if section == "symptoms":
            # What the patient's own list holds it feels, though the examiner may find the same.
            sentences = [[run for run in runs if not self._is_felt(run)] for runs in sentences]
        words, here = self._words, section in _HERE
        for run in (run for sentence in sentences for run in sentence):
            for number, clause in enumerate(run.clauses):
                here_now, elsewhere = words["here"].search(clause), words["elsewhere"].search(clause)
                if here_now or elsewhere:
                    here = _end(here_now) > _end(elsewhere)
                if number or not run.reports or self._tells_no_result(run):
                    continue
                heard = not here or (words["earlier"].search(clause) is not None and here_now is None)
                if not heard or self._is_recorded(run) or withhold(run.text, self._secret, section=section) != run.text:
                    yield run

    def _is_felt(self, run: _Run) -> bool:
        """Whether a run of the list of symptoms names no examination, sign, number or secret."""
        return (
            not _reports(run.text, self._language) and withhold(run.text, self._secret, section="symptoms") == run.text
        )

    def _tells_no_result(self, run: _Run) -> bool:
        """Whether a run tells that something was examined, or was not, and nothing of what came of it."""
        text, words = run.text, self._words
        return (
            words["event"].search(text) is not None
            and words["outcome"].search(EXAMINATION.sub("", text)) is None
            and LABORATORY_VALUE.search(text) is None
            and not self._is_recorded(run)
        )

    def _is_recorded(self, run: _Run) -> bool:
        """Whether a run holds a distinctive result in the words of the findings."""
        folded = Folded(run.text)
        return any(folded.find(value) >= 0 for value in (*self._values, *self._measured))

    @functools.cached_property
    def _measured(self) -> tuple[str, ...]:
        """The numbers of the findings with their units that can only be these, folded."""
        return result_terms(tuple(f for f in self._findings if isinstance(f.value, float)))

    @functools.cached_property
    def _recorded(self) -> list[Folded]:
        return [Folded(f"{f.examination} {f.item} {f.value_text} {f.unit}") for f in self._findings]

    def _as_findings(self, run: _Run) -> Iterator[Finding]:
        """Yields what a run reports as findings, without what the findings hold already."""
        groups: list[tuple[str, list[str]]] = []
        for clause in run.clauses:
            name = self._examination(clause, begun=bool(groups))
            if not groups or (name and name != groups[-1][0]):
                groups.append((name or _finding_names(self._language)["other"], []))
            groups[-1][1].append(clause)
        for name, clauses in groups:
            text = _JOINT.sub("", "".join(clauses).strip(_MARKS))
            held = Folded(text).plain
            if text and not any(held in recorded.plain for recorded in self._recorded):
                yield Finding(examination=name, value=text)

    def _examination(self, clause: str, *, begun: bool) -> str:
        """Returns the examination that a clause reports, by the record's own name where it has one; "" for none."""
        folded, words = Folded(clause), self._words
        held = [
            f for f in self._findings if isinstance(f.value, str) and f.value and folded.find(fold_term(f.value)) >= 0
        ]
        if held and _is_distinctive(held[0].value_text):
            return held[0].examination
        bare = ((f.examination, fold_term(_BRACKETS.sub("", f.examination))) for f in self._findings)
        own = [examination for examination, name in bare if name and folded.find(name) >= 0]
        if own:
            return max(own, key=len)
        if words["physical"].search(clause):
            return _finding_names(self._language)["physical"]
        found = [match[0] for match in words["examination"].finditer(clause)]
        whole = next((name for name in found if not words["analyte"].fullmatch(name)), "")
        if whole or begun:
            return whole
        items = [f.examination for f in self._findings if len(f.item) > 1 and folded.find(fold_term(f.item)) >= 0]
        measured = words["measured"].search(clause)
        return next(iter(items), "") or (measured["name"] if measured else next(iter(found), ""))


def _joined(sentence: list[_Run], told: list[_Run]) -> str:
    """Returns the runs of a sentence that are told, as a sentence."""
    text = "".join(run.text for run in told)
    if len(told) == len(sentence) or not text.strip():
        return text if len(told) == len(sentence) else ""
    if told[0] is not sentence[0]:
        text = capitalised(_JOINT.sub("", text).lstrip(" ，、,"))
    text = text.rstrip(" ，、,")
    if not text or text[-1] in "。.!?；;！？":
        return text
    return text + ("。" if is_chinese(text) else ". ")


def _bare(clause: str) -> str:
    return Folded(clause).plain.strip(_MARKS)


def _end(match: re.Match[str] | None) -> int:
    return -1 if match is None else match.end()


def _is_distinctive(value: str) -> bool:
    """Whether a result, where it stands word for word in a history, can only be that result."""
    chinese = chinese_characters(value)
    return chinese >= 8 or (chinese == 0 and len(value) >= 20)


_remembered = WORDS.section("remembered", dict[str, str])


def remembered(past: PatientRecord | None, language: Language) -> tuple[str, ...]:
    """Returns what a patient remembers, a text a visit, the earliest first; nothing of a first visit's beginning."""
    if past is None:
        return ()
    say, marks, texts = _remembered(language), MARKS[language], list[str]()
    for visit in (*past.earlier, past.today):
        day = "" if visit is past.today else visit.day
        sentences = [sentence for held in visit.consultations for sentence in _consultation(held, day, language)]
        if sentences and visit.handed_out:
            sentences.append(say["given"].format(drugs=marks.item.join(visit.handed_out)))
        if sentences and visit.outcome:
            sentences.append(say[visit.outcome])
        texts += [marks.blank.join(sentences)] if sentences else []
    return tuple(texts)


def _consultation(held: NotedConsultation, day: str, language: Language) -> list[str]:
    say, item = _remembered(language), MARKS[language].item
    where = (
        say["with_doctor"].format(department=held.department, doctor=held.doctor) if held.doctor else held.department
    )
    sentences = [say["before"].format(day=day, where=where) if day else say["today"].format(where=where)]
    if examinations := dict.fromkeys(finding.examination for finding in held.findings):
        sentences.append(say["examined"].format(examinations=item.join(examinations)))
    named = say["named"].format(disease=held.diagnoses[0].name) if held.diagnoses else say["not_named"]
    sentences.append(named)
    if held.step == "refer":
        sentences.append(say["referred"].format(department=held.refer_to))
    elif held.step == "admit":
        sentences.append(say["admitted"])
    return sentences


__all__ = ["Patient", "without_results"]

_TEXTS = ("statement", "life", "events", "character", "speech")


class Patient(PlayedRole):
    """The patient of one visit.

    Args:
        record: the case's record; of its findings only an online patient keeps any.
        setting: `ward`, where an examiner holds the findings, or `online`.
        withheld: the names of the diagnoses. What the patient has names one only where it shows that the patient knows
            of it from before this visit (see `cases.withhold`), or where the complaint does.
        past: what was noted of it in this hospital; what it was told there it knows, whatever is withheld.
        staging: where it has its history `whole`, it has the results that it reports too, and may say all of it,
            whatever is withheld otherwise (aie-saps §4.2.3; ai-hospital §2.1, Table 9).

    Attributes:
        history: what the patient can tell; in a ward, without the results of this visit unless it has the whole.
        findings: what the patient knows of results; none in a ward.
        persona: whose voice the patient has; None where it has none.
        remembered: what it remembers of its visits to this hospital, a text each.
        vignette: all that it knows as one text, where it has the whole record and the source has it so; else "".
    """

    def __init__(
        self,
        mind: Mind[Patient],
        record: Record,
        *,
        setting: Setting = "ward",
        withheld: tuple[str, ...] = (),
        persona: Persona | None = None,
        past: PatientRecord | None = None,
        staging: Staging = OURS,
    ) -> None:
        super().__init__(mind)
        self.staging, whole = staging, staging.whole
        withheld = () if whole else withheld
        self.setting: Setting = setting
        self.presentation: Presentation = record.presentation
        reports = whole or setting == "online"
        parted = part(record, setting="online" if reports else "ward", withheld=withheld)
        self.history: History = parted.history
        self._opening = record.opening
        self.vignette: str = record.vignette if whole else ""
        self.remembered: tuple[str, ...] = remembered(past, record.presentation.language)
        self.findings: tuple[Finding, ...] = ()
        if setting == "online":
            values = [f.value for f in record.findings if isinstance(f.value, str)]
            secret = (*parted.withheld, *in_other_words(values, record, withheld))
            told_findings = (
                msgspec.structs.replace(f, value=withhold(f.value, secret, section="present"))
                if isinstance(f.value, str)
                else f
                for f in record.findings
            )
            self.findings = tuple(f for f in told_findings if f.value_text.strip())

        def tellable(text: str) -> str:
            # A persona retells what the history tells; results it leaves to the history.
            secret = (*parted.withheld, *in_other_words((text,), record, withheld))
            told = withhold(text, secret, section="present")
            return told if reports else without_results(told, distinctive_results(record.findings, told))

        self.persona: Persona | None = None
        if persona is not None:
            texts = {name: tellable(getattr(persona, name)) for name in _TEXTS}
            questions = tuple(q for question in persona.questions if (q := tellable(question)).strip())
            self.persona = msgspec.structs.replace(persona, questions=questions, **texts)

    def first_words(self) -> str:
        """Returns what it says first where that stands fixed: its persona's statement, else the source's; else ""."""
        if self.persona is not None and self.persona.statement:
            return self.persona.statement
        return "" if self._opening is None else self._opening.said

    def heard(self) -> str:
        """Returns what the doctor, or the nurse at the door, last said; "" before that."""
        return self.last_said(who=Role.DOCTOR) or self.last_said(who=Role.NURSE)

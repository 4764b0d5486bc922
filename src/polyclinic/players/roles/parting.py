"""Takes a record apart: what its patient can tell, and which results told in its history the examiner holds.

In a ward results are the examiner's. A history tells some all the same. Those that the patient heard before this visit,
from somebody else who examined it, it can tell; those of this visit go to the examiner, word for word, under the name
of their examination, so that who orders it gets them. Nothing stands in both places: what the examiner holds in the
same words, the patient does not tell, but for its own list of symptoms, which it feels.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.presentation import Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.terms import result_terms
from polyclinic.cases.withhold import withhold
from polyclinic.knowledge.examination_words import EXAMINATION, LABORATORY_VALUE, MEASURED
from polyclinic.language.folding import Folded, fold_term
from polyclinic.language.language import Language, capitalised, chinese_characters, is_chinese
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.players.roles.secret import secret_of

WORDS = WordLists(Path(__file__).with_name("words"), examination=EXAMINATION.pattern)
"""The words of this room."""

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


class _FindingNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    physical: str
    other: str


class _ResultWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    elsewhere: Pattern
    earlier: Pattern
    here: Pattern
    observed: Pattern
    lead: Pattern
    event: Pattern
    outcome: Pattern
    sign: Pattern
    measured: Pattern
    physical: Pattern
    analyte: Pattern
    examination: Pattern
    names: _FindingNames


_words = WORDS.section("results", _ResultWords)


class Parted(NamedTuple):
    """What becomes of a record's history.

    Attributes:
        history: what the patient can tell.
        results: what the examiner holds of it, beside the record's findings; nothing outside a ward.
        withheld: the names that must not be said: those that the doctor does not read at the door.
    """

    history: History
    results: tuple[Finding, ...]
    withheld: tuple[str, ...]


def part(record: Record, *, setting: Setting = "ward", withheld: tuple[str, ...] = ()) -> Parted:
    """Parted the history of a record between patient and examiner.

    Args:
        record: the case's record.
        setting: `ward`, where an examiner holds the findings, or `online`, where the patient keeps all it was told.
        withheld: names that this visit is to find out. A clause with one is the patient's only where it shows that the
            patient knows of it, or where the doctor reads it at the door; a result with one is the examiner's.
    """
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
    sentences = _SentenceRuns(text, map(fold_term, values))
    told = "".join(_joined(sentence, [run for run in sentence if not run.reports]) for sentence in sentences.runs)
    told = told.strip()
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
    return any(words.search(text) for words in (EXAMINATION, LABORATORY_VALUE, _words(language).sign))


class _ClauseRun:
    """Clauses in a row that all report results, or none of which does."""

    def __init__(self, *, reports: bool) -> None:
        self.reports = reports
        self.clauses: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.clauses)


class _SentenceRuns:
    """The sentences of a text as runs; with `signs`, what only an examination finds counts as reported."""

    def __init__(self, text: str, values: Iterable[str], *, signs: bool = True) -> None:
        self._words = _words("zh" if is_chinese(text) else "en")
        self._reporting = (EXAMINATION, LABORATORY_VALUE, *((self._words.sign,) if signs else ()))
        self._values = tuple(values)
        self.runs = [self._divide(sentence) for sentence in _SENTENCE.split(text)] if text.strip() else []

    def _divide(self, sentence: str) -> list[_ClauseRun]:
        clauses = _clauses(sentence)
        held = self._holding(clauses)
        runs: list[_ClauseRun] = []
        reporting = False
        for order, clause in enumerate(clauses):
            if order in held or any(words.search(clause) for words in self._reporting):
                reporting = True
            elif reporting and _RESUMED.match(clause):
                led_up_to = self._words.lead.search(clauses[order - 1])
                reporting = bool(led_up_to or self._words.observed.search(clause))
            if not runs or runs[-1].reports is not reporting:
                runs.append(_ClauseRun(reports=reporting))
            runs[-1].clauses.append(clause)
        return runs

    def _holding(self, clauses: list[str]) -> set[int]:
        """Returns which clauses hold a value, alone or together."""
        folded = Folded("".join(clauses))
        held: set[int] = set()
        for value in self._values:
            if folded.find(value) < 0:
                continue
            alone = {order for order, clause in enumerate(clauses) if Folded(clause).find(value) >= 0}
            held |= alone or _together(clauses, value)
        return held


def _together(clauses: list[str], value: str) -> set[int]:
    """Returns the fewest clauses in a row that hold a value together."""
    for n in range(2, len(clauses) + 1):
        for begin in range(len(clauses) - n + 1):
            if Folded("".join(clauses[begin : begin + n])).find(value) >= 0:
                return set(range(begin, begin + n))
    return set()


def _clauses(sentence: str) -> list[str]:
    """Returns the clauses of a sentence; a value behind a comma belongs to the name before it ("血清锌，9.6umol/L")."""
    clauses: list[str] = []
    for clause in _CLAUSE.split(sentence):
        if clauses and MEASURED.match(clause):
            clauses[-1] += clause
        else:
            clauses.append(clause)
    return clauses


class _Parting:
    """Parted one record's history in a ward."""

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
        parted = [
            (name, _SentenceRuns(text, self._values, signs=name != "symptoms").runs) for name, text in self._texts
        ]
        moved: dict[int, _ClauseRun] = {}
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

    def _of_this_visit(self, section: str, sentences: list[list[_ClauseRun]]) -> Iterator[_ClauseRun]:
        """Yields the runs that report what this visit finds, or what nobody may name."""
        if section == "symptoms":
            # What the patient's own list holds it feels, though the examiner may find the same.
            sentences = [[run for run in runs if not self._is_felt(run)] for runs in sentences]
        words, here = self._words, section in _HERE
        for run in (run for sentence in sentences for run in sentence):
            first = run.clauses[0]
            here_now, elsewhere = words.here.search(first), words.elsewhere.search(first)
            if here_now or elsewhere:
                here = _end(here_now) > _end(elsewhere)
            if not run.reports or self._tells_no_result(run):
                continue
            heard = not here or (words.earlier.search(first) is not None and here_now is None)
            if not heard or self._is_recorded(run) or withhold(run.text, self._secret, section=section) != run.text:
                yield run
            for clause in run.clauses[1:]:
                here_now, elsewhere = words.here.search(clause), words.elsewhere.search(clause)
                if here_now or elsewhere:
                    here = _end(here_now) > _end(elsewhere)

    def _is_felt(self, run: _ClauseRun) -> bool:
        """Whether a run of the list of symptoms names no examination, sign, number or secret."""
        found = (EXAMINATION, LABORATORY_VALUE, self._words.sign)
        return (
            not any(words.search(run.text) for words in found)
            and withhold(run.text, self._secret, section="symptoms") == run.text
        )

    def _tells_no_result(self, run: _ClauseRun) -> bool:
        """Whether a run tells that something was examined, or was not, and nothing of what came of it."""
        text, words = run.text, self._words
        return (
            words.event.search(text) is not None
            and words.outcome.search(EXAMINATION.sub("", text)) is None
            and LABORATORY_VALUE.search(text) is None
            and not self._is_recorded(run)
        )

    def _is_recorded(self, run: _ClauseRun) -> bool:
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

    def _as_findings(self, run: _ClauseRun) -> Iterator[Finding]:
        """Yields what a run reports as findings, without what the findings hold already."""
        groups: list[tuple[str, list[str]]] = []
        for clause in run.clauses:
            name = self._examination(clause, begun=bool(groups))
            if not groups or (name and name != groups[-1][0]):
                groups.append((name or self._words.names.other, []))
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
        if words.physical.search(clause):
            return words.names.physical
        found = [match[0] for match in words.examination.finditer(clause)]
        whole = next((name for name in found if not words.analyte.fullmatch(name)), "")
        if whole or begun:
            return whole
        items = [f.examination for f in self._findings if len(f.item) > 1 and folded.find(fold_term(f.item)) >= 0]
        measured = words.measured.search(clause)
        return next(iter(items), "") or (measured["name"] if measured else next(iter(found), ""))


def _joined(sentence: list[_ClauseRun], told: list[_ClauseRun]) -> str:
    """Returns the runs of a sentence that are told, as a sentence."""
    text = "".join(run.text for run in told)
    if len(told) == len(sentence) or not text.strip():
        return text if len(told) == len(sentence) else ""
    if told[0] is not sentence[0]:
        text = capitalised(_JOINT.sub("", text).lstrip(" ，、,"))
    return _closed(text)


def _closed(text: str) -> str:
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

"""What the visits of one entrant of MVME come to (ai-hospital §3, §5, §6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from polyclinic.benchmarks.mvme.rounds import Rounds, rounds_of
from polyclinic.cases.case import Case
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.events import Examined, Failed, Role, Said
from polyclinic.judges.failure_reasons import Reasons
from polyclinic.language.language import Language
from polyclinic.metrics.director import GradeSummary, Protocol, summarise
from polyclinic.metrics.grades import Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.metrics.icd.scores import IcdSummary, NamedPair, score_names
from polyclinic.statistics.uncertainty import Estimate, estimate
from polyclinic.visits.visit import TeamVisit, Visit


class Setting(StrEnum):
    """The three parts of the paper's tables."""

    INTERACTION = "interaction"
    COLLABORATION = "collaboration"
    ONE_STEP = "one-step"


class Department(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one department.

    Attributes:
        n: reports that were graded.
        verdicts: their grades.
        icd_f1: F1 of their codes, pooled, in percent; None without a table of their language.
    """

    n: int
    verdicts: GradeSummary
    icd_f1: Estimate | None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How one entrant did.

    Attributes:
        name: who.
        setting: in which part of the tables.
        verdicts: the director's grades (Table 2).
        icd: by language, the codes named (Table 3); nothing for a language without a table.
        qa: questions and answers a visit; of a team, of all its doctors together.
        tests: requests that reached the examiner a visit, likewise.
        rounds: of a team: rounds to consensus (Figure 4).
        departments: by the cases' department, where they name any.
        reasons: why the diagnoses that are graded 1 went wrong (Table 5).
        no_report: visits in which the doctor's answer could not be used: graded 1, and counted.
        failed: visits that failed otherwise, by what failed; outside every mean.
        judgements: report by report.
        visits: in the order of the cases.
    """

    name: str
    setting: Setting
    verdicts: GradeSummary
    icd: dict[Language, IcdSummary]
    qa: Estimate
    tests: Estimate
    rounds: Rounds | None
    departments: dict[str, Department]
    reasons: Reasons
    no_report: int
    failed: dict[str, int]
    judgements: tuple[Judgement, ...]
    visits: tuple[Visit | TeamVisit, ...]


class Came(NamedTuple):
    """A case, what came of it, and the judgement on that; None where the visit failed."""

    case: Case
    visit: Visit | TeamVisit
    judgement: Judgement | None


class How(NamedTuple):
    """How results are summed up."""

    linkers: Mapping[Language, Linker]
    protocol: Protocol
    seed: int


def row_of(name: str, setting: Setting, came: Sequence[Came], reasons: Reasons, how: How) -> Row:
    """Sums up the visits of an entrant.

    Args:
        name: whose they are.
        setting: how they were held.
        came: case by case.
        reasons: why diagnoses graded 1 went wrong.
        how: results are summed up.
    """
    failed = Counter(_cause(visit) for _, visit, judgement in came if judgement is None)
    graded = [one for one in came if one.judgement is not None]
    departments = Counter(case.department for case, _, _ in graded if case.department)
    teams = [visit for _, visit, _ in graded if isinstance(visit, TeamVisit)]
    return Row(
        name=name,
        setting=setting,
        verdicts=_verdicts(graded, how),
        icd=_linked(graded, how),
        qa=_counted(graded, answers_in, how),
        tests=_counted(graded, examinations_in, how),
        rounds=rounds_of(teams) if setting is Setting.COLLABORATION else None,
        departments={
            place: _department([one for one in graded if one.case.department == place], how)
            for place, _ in departments.most_common()
        },
        reasons=reasons,
        no_report=sum(visit.report is None for _, visit, _ in graded),
        failed=dict(failed),
        judgements=tuple(one.judgement for one in graded if one.judgement is not None),
        visits=tuple(one.visit for one in came),
    )


def _cause(visit: Visit | TeamVisit) -> str:
    failure = visit.trace.last(Failed)
    return f"{failure.who}: {failure.error}" if failure is not None else str(visit.end)


def _verdicts(graded: Sequence[Came], how: How) -> GradeSummary:
    judgements = [one.judgement for one in graded if one.judgement is not None]
    return summarise(judgements, protocol=how.protocol, seed=how.seed)


def _department(graded: Sequence[Came], how: How) -> Department:
    linked = _linked(graded, how)
    return Department(
        n=len(graded),
        verdicts=_verdicts(graded, how),
        # Of two languages, the figure would be of two tables.
        icd_f1=next(iter(linked.values())).metrics["f1"] if len(linked) == 1 else None,
    )


def linked_by(
    linkers: Mapping[Language, Linker], visits: Sequence[tuple[Case, Visit | TeamVisit]], *, seed: int = 0
) -> dict[Language, IcdSummary]:
    """Returns by language how the diagnoses of visits compare with the cases', as codes.

    Args:
        linkers: what links names to ICD-10; a language without one is left out.
        visits: cases and what came of them; a visit without a report names nothing.
        seed: of the bootstrap.
    """
    found: dict[Language, IcdSummary] = {}
    for language, linker in linkers.items():
        pairs = [
            NamedPair(id=case.id, given=_diagnoses(visit.report), reference=case.truth.diagnoses)
            for case, visit in visits
            if case.presentation.language == language
        ]
        if pairs:
            found[language] = score_names(pairs, linker, seed=seed)
    return found


def _linked(graded: Sequence[Came], how: How) -> dict[Language, IcdSummary]:
    return linked_by(how.linkers, [(case, visit) for case, visit, _ in graded], seed=how.seed)


def _diagnoses(report: Report | None) -> tuple[Diagnosis, ...]:
    return report.diagnoses if report is not None else ()


def _counted(graded: Sequence[Came], count: Callable[[Visit], int], how: How) -> Estimate:
    sums = [float(sum(map(count, consultations_of(visit)))) for _, visit, _ in graded]
    return estimate(sums, seed=how.seed)


def answers_in(visit: Visit) -> int:
    """Returns how often the patient answered the doctor (#QA)."""
    return sum(isinstance(e, Said) and e.who is Role.PATIENT and e.turn > 0 for e in visit.trace)


def examinations_in(visit: Visit) -> int:
    """Returns how often a request reached the examiner (#Test)."""
    return sum(isinstance(e, Examined) for e in visit.trace)


def consultations_of(visit: Visit | TeamVisit) -> tuple[Visit, ...]:
    """Returns the doctors' own visits; of one doctor, that one."""
    return (visit,) if isinstance(visit, Visit) else visit.consultations


def examined(visit: Visit | TeamVisit) -> tuple[str, ...]:
    """Returns the names of the examinations that were done, by whichever doctor."""
    found = (
        f.examination for v in consultations_of(visit) for e in v.trace if isinstance(e, Examined) for f in e.findings
    )
    return tuple(dict.fromkeys(found))

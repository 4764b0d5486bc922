"""What the visits of one entrant of MVME come to (ai-hospital §3, §5, §6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.evaluations.evaluation import Play
from polyclinic.events import Examined, Failed, Role, Said
from polyclinic.frames import Tabular
from polyclinic.judging.failure_reasons import Reasons
from polyclinic.language.language import Language
from polyclinic.metrics.grades import Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.metrics.icd.scores import IcdSummary, NamedPair, score_names, with_names
from polyclinic.metrics.recorded_reports import GradeSummary, MissingGrade, summarise
from polyclinic.models.tally import CallTotal
from polyclinic.players.minds import Minds
from polyclinic.statistics.uncertainty import Estimate, estimate, share
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit


class TablePart(StrEnum):
    """The three parts of the paper's tables."""

    INTERACTION = "interaction"
    COLLABORATION = "collaboration"
    ONE_STEP = "one-step"


class Entrant(NamedTuple):
    """Who is evaluated: one doctor, or a team; who plays each one's visits, and whether without a dialogue.

    A team whose `disputes` are not shown is the paper's ablation.
    """

    name: str
    minds: tuple[Minds, ...]
    one_step: bool = False
    disputes: bool = True

    @property
    def setting(self) -> TablePart:
        """Which part of the tables it belongs to."""
        if len(self.minds) > 1:
            return TablePart.COLLABORATION
        return TablePart.ONE_STEP if self.one_step else TablePart.INTERACTION


MvmePlay = Play[Case, Entrant, Visit | TeamVisit, Judgement | None]
"""A case as an entrant saw it, and the judgement on the report; None where the visit failed."""


class DepartmentResult(msgspec.Struct, frozen=True, kw_only=True):
    """The graded reports of one department; F1 of their codes is pooled, in percent, None without a table."""

    n: int
    verdicts: GradeSummary
    icd_f1: Estimate | None


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How many discussions came to a consensus within so many rounds, and percent of all with its 95 % interval."""

    n: int
    percent: float | None
    low: float | None
    high: float | None


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """Discussions that came to a report, by the number of rounds within which they had come to a consensus.

    `kept` counts doctors' answers that could not be used, so that their last report stood.
    """

    discussions: int
    within: dict[int, Reached]
    without: int
    kept: int


class EntrantResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one entrant did.

    Attributes:
        verdicts: the director's grades (Table 2).
        icd: by language, the codes named (Table 3); nothing for a language without a table.
        qa: questions and answers a visit; of a team, of all its doctors together.
        tests: requests that reached the examiner a visit, likewise.
        told_as_normal: examinations of which the record says nothing and the examiner said that they are normal, over
            all graded visits.
        rounds: of a team: rounds to consensus (§6.2, Figure 4).
        departments: by the cases' department, where they name any.
        reasons: why the diagnoses that are graded 1 went wrong (Table 5).
        no_report: visits in which the doctor's answer could not be used: graded 1, and counted.
        failed: visits that failed otherwise, by what failed; outside every mean.
        calls: by case, those without which its report would not be there; of consultations and discussions that serve
            several entrants they are every one's.
    """

    name: str
    setting: TablePart
    verdicts: GradeSummary
    icd: dict[Language, IcdSummary]
    qa: Estimate
    tests: Estimate
    told_as_normal: int
    rounds: Rounds | None
    departments: dict[str, DepartmentResult]
    reasons: Reasons
    no_report: int
    failed: dict[str, int]
    judgements: tuple[Judgement, ...]
    visits: tuple[Visit | TeamVisit, ...]
    calls: dict[str, CallTotal] = {}


def entrant_result(
    name: str,
    plays: Sequence[MvmePlay],
    reasons: Reasons,
    *,
    linkers: Mapping[Language, Linker],
    missing_grade: MissingGrade,
    names: Mapping[str, tuple[str, ...]] | None = None,
    calls: Mapping[str, CallTotal] = MappingProxyType({}),
    seed: int,
) -> EntrantResult:
    """Sums up an entrant's plays and why diagnoses graded 1 went wrong; other arguments as `mvme`.

    The `names` are what a model read out of each side's diagnoses (`scores.text_of`); without them they are as typed.
    """
    graded = [play for play in plays if play.scored is not None]
    setting = plays[0].player.setting if plays else TablePart.INTERACTION
    teams = [play.played for play in graded if isinstance(play.played, TeamVisit)]
    departments = Counter(play.item.department for play in graded if play.item.department)

    def verdicts(some: Sequence[MvmePlay]) -> GradeSummary:
        return summarise([play.scored for play in some if play.scored], missing_grade=missing_grade, seed=seed)

    def linked(some: Sequence[MvmePlay]) -> dict[Language, IcdSummary]:
        return linked_by(linkers, [(play.item, play.played) for play in some], names=names, seed=seed)

    def counted(count: Callable[[Visit], int]) -> Estimate:
        return estimate([float(sum(map(count, consultations_of(play.played)))) for play in graded], seed=seed)

    def department(some: Sequence[MvmePlay]) -> DepartmentResult:
        of_codes = list(linked(some).values())
        # Of two languages, the figure would be of two tables.
        icd_f1 = of_codes[0].metrics["f1"] if len(of_codes) == 1 else None
        return DepartmentResult(n=len(some), verdicts=verdicts(some), icd_f1=icd_f1)

    return EntrantResult(
        name=name,
        setting=setting,
        verdicts=verdicts(graded),
        icd=linked(graded),
        qa=counted(answers_in),
        tests=counted(examinations_in),
        told_as_normal=sum(visit.told_as_normal for play in graded for visit in consultations_of(play.played)),
        rounds=rounds_of(teams) if setting is TablePart.COLLABORATION else None,
        departments={
            place: department([play for play in graded if play.item.department == place])
            for place, _ in departments.most_common()
        },
        reasons=reasons,
        no_report=sum(play.played.report is None for play in graded),
        failed=dict(Counter(_cause(play.played) for play in plays if play.scored is None)),
        judgements=tuple(play.scored for play in graded if play.scored is not None),
        visits=tuple(play.played for play in plays),
        calls=dict(calls),
    )


def _cause(visit: Visit | TeamVisit) -> str:
    failure = visit.trace.last(Failed)
    return f"{failure.who}: {failure.error}" if failure is not None else str(visit.end)


def rounds_of(visits: Sequence[TeamVisit]) -> Rounds:
    """Counts the rounds of the visits that came to a report."""
    held = [visit for visit in visits if visit.report is not None]
    after = Counter(visit.consensus for visit in held if visit.consensus is not None)
    within, reached = {}, 0
    for number in range(1, max((visit.rounds for visit in held), default=0) + 1):
        # A doctor who was left alone held no round, and disputes with nobody.
        reached = sum(n for round_number, n in after.items() if round_number <= number)
        percent, low, high = share(reached, len(held))
        within[number] = Reached(n=reached, percent=percent, low=low, high=high)
    return Rounds(
        discussions=len(held),
        within=within,
        without=sum(visit.consensus is None for visit in held),
        kept=sum(visit.kept for visit in visits),
    )


def linked_by(
    linkers: Mapping[Language, Linker],
    visits: Sequence[tuple[Case, Visit | TeamVisit]],
    *,
    names: Mapping[str, tuple[str, ...]] | None = None,
    seed: int = 0,
) -> dict[Language, IcdSummary]:
    """Returns by language how the diagnoses of visits compare with the cases', as codes.

    A language without a linker is left out, and a visit without a report names nothing. `names` as in `entrant_result`.
    """
    found: dict[Language, IcdSummary] = {}
    for language, linker in linkers.items():
        pairs = [pair_of(case, visit) for case, visit in visits if case.presentation.language == language]
        if pairs and names is not None:
            pairs = [with_names(pair, names) for pair in pairs]
        if pairs:
            found[language] = score_names(pairs, linker, seed=seed)
    return found


def pair_of(case: Case, visit: Visit | TeamVisit) -> NamedPair:
    """Returns what a visit's report and the case name."""
    given = () if visit.report is None else visit.report.diagnoses
    return NamedPair(id=case.id, given=given, reference=case.truth.diagnoses)


def answers_in(visit: Visit) -> int:
    """Returns how many of the doctor's turns the patient answered (#QA), once where it went to the examiner between."""
    said = (e for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT)
    return len({e.turn for e in said if e.turn > 0})


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

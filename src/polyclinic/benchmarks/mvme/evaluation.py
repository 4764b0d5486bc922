"""MVME: interns and teams of them see patients, and the medical director grades their reports (ai-hospital §3-6).

1. Every entrant (a doctor, or a team that settles its disputes) sees every patient, or reads every whole record.
2. The director grades each report in five aspects, 1 to 4 (Table 2).
3. The diagnoses are linked to ICD-10 and compared with the reference's as sets (Table 3).
4. Beside: by department, why diagnoses graded 1 went wrong (Table 5), rounds to consensus (Figure 4), and how many
   questions and examinations a visit took (#QA, #Test).

Visits do not depend on one another and run at once, and so do the gradings. A doctor whose answer cannot be used has
handed in no report: it is graded 1 in every aspect and names nothing, as nobody gains by being unreadable. A visit that
failed otherwise (an endpoint, the patient, the examiner) is outside every mean, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import msgspec

from polyclinic.benchmarks.mvme.rows import Came, How, Row, Setting, examined, row_of
from polyclinic.cases.case import Case
from polyclinic.events import Failed, Order, Role, Shared
from polyclinic.judges.director import Judge, without_report
from polyclinic.judges.failure_reasons import Missed, Words, find_reasons, is_missed
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.director import Protocol, Ties, ties
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.icd.linking import Linker
from polyclinic.models.model import Model
from polyclinic.players.minds import Minds
from polyclinic.players.roles.examiner import Missing
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference
from polyclinic.tasks import run_all
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.dispute_resolution import MAX_ROUNDS
from polyclinic.visits.visit import TeamVisit, Visit, confer, see


class Entrant(NamedTuple):
    """Who is evaluated: one doctor, or a team.

    Attributes:
        name: in the tables.
        minds: who plays the visits of each doctor.
        one_step: every doctor reads the whole record, without a dialogue.
    """

    name: str
    minds: tuple[Minds, ...]
    one_step: bool = False

    @property
    def setting(self) -> Setting:
        """Which part of the tables it belongs to."""
        if len(self.minds) > 1:
            return Setting.COLLABORATION
        return Setting.ONE_STEP if self.one_step else Setting.INTERACTION


class Versus(msgspec.Struct, frozen=True, kw_only=True):
    """One entrant less another in one aspect, on the cases that both have a grade on.

    Attributes:
        first: the one.
        second: the other.
        aspect: of what.
        difference: of the grades.
        p_holm: corrected for everything that was compared at once.
    """

    first: str
    second: str
    aspect: Aspect
    difference: Difference
    p_holm: float | None = None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """All entrants, every two of them compared, and what the judge cannot tell apart.

    Attributes:
        judge: its name.
        judge_version: of its questions or rules.
        judge_prompts: hash of its prompts, or of the numbers that its rules were fitted to.
    """

    judge: str
    judge_version: int
    judge_prompts: str
    rows: tuple[Row, ...]
    comparisons: tuple[Versus, ...]
    ties: tuple[Ties, ...]


async def evaluate(
    cases: Sequence[Case],
    entrants: Sequence[Entrant],
    *,
    judge: Judge,
    knowledge: Knowledge,
    linkers: Mapping[Language, Linker] | None = None,
    reason_judge: Model | None = None,
    words: Words | None = None,
    max_turns: int = MAX_TURNS,
    order: Order = Order.PARALLEL,
    max_rounds: int = MAX_ROUNDS,
    disputes: bool = True,
    missing: Missing = "not recorded",
    protocol: Protocol = "readable",
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Runs the evaluation.

    Args:
        cases: who is ill; their diagnoses, rationale and treatment are the reference.
        entrants: with different names.
        judge: the director that grades.
        knowledge: for the rules that find reasons.
        linkers: by language, what links names to ICD-10.
        reason_judge: a model that says why a diagnosis graded 1 went wrong; None takes rules.
        words: what people say of that, which goes before.
        max_turns: each doctor's turns.
        order: of the doctors within a round of discussion.
        max_rounds: of discussion at most.
        disputes: the doctors are shown the points of dispute.
        missing: what an examiner says of what is not recorded.
        protocol: `paper` counts a missing grade as 1.
        seed: of the bootstrap.
        advance: called after each visit.

    Raises:
        WrongKey: an endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """

    async def visit(entrant: Entrant, case: Case) -> Visit | TeamVisit:
        if len(entrant.minds) > 1:
            came: Visit | TeamVisit = await confer(
                case,
                entrant.minds,
                max_turns=max_turns,
                in_one_step=entrant.one_step,
                order=order,
                max_rounds=max_rounds,
                disputes=disputes,
                missing=missing,
            )
        else:
            came = await see(case, entrant.minds[0], max_turns=max_turns, in_one_step=entrant.one_step, missing=missing)
        advance()
        return came

    seen = await run_all(partial(visit, entrant, case) for entrant in entrants for case in cases)
    n, how = len(cases), How(linkers or {}, protocol, seed)
    rows = []
    for place, entrant in enumerate(entrants):
        visits = seen[n * place : n * (place + 1)]
        came = [Came(*one) for one in zip(cases, visits, await _grade(entrant, cases, visits, judge), strict=True)]
        said = {key: word for key, word in (words or {}).items() if key[1] == entrant.name}
        misses = _misses(entrant, came)
        reasons = await find_reasons(misses, judge=reason_judge, knowledge=knowledge, words=said)
        rows.append(row_of(entrant.name, entrant.setting, came, reasons, how))
    graded = [judgement for row in rows for judgement in row.judgements]
    return Evaluation(
        judge=judge.name,
        judge_version=judge.version,
        judge_prompts=judge.prompts,
        rows=tuple(rows),
        comparisons=_compared(rows, seed),
        ties=tuple(ties(graded)),
    )


async def _grade(
    entrant: Entrant, cases: Sequence[Case], visits: Sequence[Visit | TeamVisit], judge: Judge
) -> list[Judgement | None]:
    """Returns the judgement on each visit; None where it failed and nobody is to blame for the report."""

    async def one(case: Case, visit: Visit | TeamVisit) -> Judgement | None:
        if visit.report is not None:
            judged = await judge.grade(case, visit.report, one_step=entrant.one_step)
            return msgspec.structs.replace(judged, doctor=entrant.name)
        failure = _to_blame(visit)
        if failure is None:
            return None
        judged = without_report(case, judge, failure.error, one_step=entrant.one_step)
        return msgspec.structs.replace(judged, doctor=entrant.name)

    return await run_all(partial(one, case, visit) for case, visit in zip(cases, visits, strict=True))


def _to_blame(visit: Visit | TeamVisit) -> Failed | None:
    """Returns the failure where a doctor, or who chairs, gave no usable answer, and so no report; else None."""
    failures = [event for event in visit.trace if isinstance(event, Failed)]
    if visit.trace.last(Shared) is not None or isinstance(visit, Visit):
        # The last one ended it. Before a discussion, all doctors failed.
        failures = failures[-1:]
    blamed = all(f.answered and f.who in (Role.DOCTOR, Role.DIRECTOR) for f in failures)
    return failures[0] if failures and blamed else None


def _misses(entrant: Entrant, came: Sequence[Came]) -> list[Missed]:
    return [
        Missed(case=case, doctor=entrant.name, report=v.report, done=None if entrant.one_step else examined(v))
        for case, v, judgement in came
        if judgement is not None and v.report is not None and is_missed(judgement)
    ]


def _compared(rows: Sequence[Row], seed: int) -> tuple[Versus, ...]:
    found = []
    for first, second in combinations(rows, 2):
        theirs = {judgement.case: judgement for judgement in second.judgements}
        for aspect in Aspect:
            both = [
                (float(a), float(b))
                for ours in first.judgements
                if (a := ours.grades.get(aspect)) is not None
                and ours.case in theirs
                and (b := theirs[ours.case].grades.get(aspect)) is not None
            ]
            if both:
                difference = paired_difference([a for a, _ in both], [b for _, b in both], seed=seed)
                found.append(Versus(first=first.name, second=second.name, aspect=aspect, difference=difference))
    corrected = iter(holm([one.difference.p for one in found if one.difference.p is not None]))
    return tuple(
        one if one.difference.p is None else msgspec.structs.replace(one, p_holm=next(corrected)) for one in found
    )

"""How reliable patient and examiner are: relevance, consistency, and examinations that were ordered (AI Hospital §6.1).

1. Every doctor sees every patient.
2. Each round (a doctor's turn and what patient or examiner answered) is judged against the record: is the answer
   relevant to what the doctor said, is it consistent with the record? Of the paper's four questions (table 7) these two
   need a judge; who judged stands with each judgement. Without a judge both are left out.
3. The two on examinations are read off the trace: of the turns in which the doctor orders an examination by name, the
   share that reached the examiner; and of those in which none is named, how many reached it all the same. An order is
   a sentence that names an examination and asks for it, and not for what one has shown or whether it was ever done.

Every mean is over rounds or visits, with cases as clusters. A visit that failed is outside and counted; a judgement
that cannot be read, or did not come, is counted and counts for neither yes nor no.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.evaluations.reliability.attack import names_examination, orders
from polyclinic.events import End, Examined, Role, Said, Trace
from polyclinic.frames import Tabular
from polyclinic.judging.model_judging import Memory, failures
from polyclinic.judging.rounds import JUDGING, VERSION, RoundAnswer, SaidInRound
from polyclinic.knowledge.names import Names
from polyclinic.models.model import Model
from polyclinic.players.minds import Minds
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, see


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's turn, from 1, and who answered what; the examiner's results come after the patient's request.

    The doctor `ordered` an examination by name, or `named` one at all, as in a question about a result; and the request
    `reached` the examiner.
    """

    case: str
    turn: int
    doctor: str
    answers: tuple[tuple[Role, str], ...]
    ordered: bool
    named: bool
    reached: bool


class RoundJudgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge made of one round: a verdict, or the name of the error.

    Where it `failed`, nobody answered; else the answer could not be used.
    """

    case: str
    turn: int
    by: str
    verdict: RoundAnswer | None = None
    error: str = ""
    failed: bool = False


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """How patient and examiner did with one doctor (table 4).

    Attributes:
        qa: rounds; `tests`: those in which the examiner was asked.
        relevance: share of relevant answers, in percent; None without a judge.
        consistency: share of consistent ones, in percent; None without a judge.
        accuracy: of the rounds with an order, the share that reached the examiner, in percent.
        ordered: rounds with an order.
        false: rounds that reached the examiner although no examination was named.
        unreadable: judgements that could not be used, by error.
        unanswered: judgements that did not come, by error.
    """

    doctor: str
    visits: int
    failed: int
    qa: int
    qa_per_visit: Estimate
    tests: int
    tests_per_visit: Estimate
    relevance: Estimate | None
    consistency: Estimate | None
    accuracy: Estimate
    ordered: int
    false: int
    unreadable: dict[str, int]
    unanswered: dict[str, int]
    rounds: tuple[Round, ...]
    judgements: tuple[RoundJudgement, ...]


class ReliabilityResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All doctors, who judged, by which version and hash of the prompts ("" is nobody), and the visits by doctor."""

    doctors: tuple[Reliability, ...]
    judge: str
    judge_version: int
    prompts: str
    visits: dict[str, tuple[Visit, ...]]


class VisitRounds(NamedTuple):
    """The rounds of a visit, none where it failed, and what a judge said of each, where there is a judge."""

    rounds: Sequence[Round] = ()
    judgements: Sequence[RoundJudgement] = ()


ReliabilityPlay = Play[Case, Minds, Visit, VisitRounds]


def reliability(
    cases: Sequence[Case],
    *,
    judge: Model | None = None,
    max_turns: int = MAX_TURNS,
    temperature: float | None = None,
    seed: int = 0,
) -> Plays[Case, Minds, Visit, VisitRounds, ReliabilityResult]:
    """Returns the evaluation; its players are the minds of each doctor.

    The judge is best of another family than the patient, and is asked at `temperature`; None leaves out what needs one.
    """
    memory = Memory()  # Two doctors who said and heard the same share the judgement.

    async def play(case: Case, minds: Minds) -> Visit:
        return await minds.desk.play(case.id, partial(see, case, minds, max_turns=max_turns))

    async def score(case: Case, minds: Minds, visit: Visit) -> VisitRounds:
        if visit.end is End.FAILED:
            return VisitRounds()
        rounds = rounds_of(case, visit.trace, minds.examination_names)
        if judge is None:
            return VisitRounds(rounds)
        said = [SaidInRound(case, ((Role.DOCTOR, one.doctor), *one.answers)) for one in rounds]
        rulings = await JUDGING.judge(said, judge, temperature=temperature, memory=memory)
        return VisitRounds(
            rounds,
            [
                RoundJudgement(
                    case=case.id,
                    turn=one.turn,
                    by=judge.name,
                    verdict=ruling.value,
                    error=ruling.error,
                    failed=ruling.failed,
                )
                for one, ruling in zip(rounds, rulings, strict=True)
            ],
        )

    async def summarise(plays: Mapping[str, Sequence[ReliabilityPlay]]) -> ReliabilityResult:
        return ReliabilityResult(
            doctors=tuple(_row(name, theirs, judged=judge is not None, seed=seed) for name, theirs in plays.items()),
            judge="" if judge is None else judge.name,
            judge_version=VERSION,
            prompts=JUDGING.prompts,
            visits={name: tuple(play.played for play in theirs) for name, theirs in plays.items()},
        )

    return Plays(items=cases, play=play, score=score, summarise=summarise, sums_up_parts=True)


def rounds_of(case: Case, trace: Trace, names: Names) -> list[Round]:
    """Returns the rounds of a visit: the doctor's turns that were answered."""
    said = {event.turn: event.text for event in trace if isinstance(event, Said) and event.who is Role.DOCTOR}
    answers: dict[int, list[tuple[Role, str]]] = {}
    reached: set[int] = set()
    for event in trace:
        if isinstance(event, Said) and event.who is Role.PATIENT and event.turn in said:
            answers.setdefault(event.turn, []).append((Role.PATIENT, event.text))
            if event.to is Role.EXAMINER:
                reached.add(event.turn)
        elif isinstance(event, Examined) and event.turn in said:
            answers.setdefault(event.turn, []).append((Role.EXAMINER, event.text))
    rounds = []
    for turn, answered in sorted(answers.items()):
        text = said[turn]
        named = names_examination(text, names)
        ordered = named and orders(text, case.presentation.language, names)
        rounds.append(
            Round(
                case=case.id,
                turn=turn,
                doctor=text,
                answers=tuple(answered),
                ordered=ordered,
                named=named,
                reached=turn in reached,
            )
        )
    return rounds


def _row(doctor: str, plays: Sequence[ReliabilityPlay], *, judged: bool, seed: int) -> Reliability:
    counted = [play for play in plays if play.played.end is not End.FAILED]
    rounds = [one for play in counted for one in play.scored.rounds]
    made = [one for play in counted for one in play.scored.judgements]
    by_case = Counter(one.case for one in rounds)
    tests_by_case = Counter(one.case for one in rounds if one.reached)
    ordered = [one for one in rounds if one.ordered]
    unreadable, unanswered = failures(made)
    verdicts = [(one.case, one.verdict) for one in made if one.verdict is not None]
    clusters = [case for case, _ in verdicts]

    def yes(values: Sequence[str]) -> Estimate | None:
        shares = [100.0 * (value == "yes") for value in values]
        return share_estimate(shares, clusters=clusters) if judged else None

    return Reliability(
        doctor=doctor,
        visits=len(counted),
        failed=len(plays) - len(counted),
        qa=len(rounds),
        qa_per_visit=estimate([float(by_case[play.item.id]) for play in counted], seed=seed),
        tests=sum(tests_by_case.values()),
        tests_per_visit=estimate([float(tests_by_case[play.item.id]) for play in counted], seed=seed),
        relevance=yes([verdict.relevant for _, verdict in verdicts]),
        consistency=yes([verdict.consistent for _, verdict in verdicts]),
        accuracy=share_estimate([100.0 * one.reached for one in ordered], clusters=[one.case for one in ordered]),
        ordered=len(ordered),
        false=sum(one.reached and not one.named for one in rounds),
        unreadable=unreadable,
        unanswered=unanswered,
        rounds=tuple(rounds),
        judgements=tuple(made),
    )

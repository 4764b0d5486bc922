"""The score of a visit that is over: by the measures of the package, beside what is so and beside another doctor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from polyclinic.cases.case import Case
from polyclinic.cases.record import Record, read_out
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.cases.truth import Truth
from polyclinic.errors import MissingExtra
from polyclinic.evaluations.aie.tracking import with_states
from polyclinic.judging.director import Judge
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import lexicon_of
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.safety import read_red_flags
from polyclinic.metrics import reasoning
from polyclinic.metrics.accuracy import Verdict
from polyclinic.metrics.conversation import score
from polyclinic.metrics.dialogue import Unscorable, from_trace
from polyclinic.metrics.grades import Aspect, Judgement
from polyclinic.metrics.points import DangerSigns, Points, Stewardship, danger_signs, points, stewardship
from polyclinic.metrics.prescribing import DuePoint, due_points, graded
from polyclinic.players.human.advice import Rung
from polyclinic.players.minds import Minds
from polyclinic.visits.visit import Visit


class NotedDifferential(msgspec.Struct, frozen=True, kw_only=True):
    """A differential that the player noted, after this many of the player's turns."""

    turn: int
    diagnoses: tuple[Diagnosis, ...]


class GradedAspect(msgspec.Struct, frozen=True, kw_only=True):
    """What a director gives an aspect of the report, and why."""

    aspect: Aspect
    grade: str | None
    analysis: str


class PlayScore(msgspec.Struct, frozen=True, kw_only=True):
    """What one doctor's visit is worth."""

    doctor: str  # whose visit it is
    verdict: Verdict
    turns: int
    report: Report | None
    metrics: dict[str, float]  # AIE's, by name; without those that the case has nothing for. `without` says why
    without: tuple[str, ...]
    judge: str  # who graded the aspects
    aspects: tuple[GradedAspect, ...]
    stewardship: Stewardship  # with names in place of ids, as in `danger`
    danger: DangerSigns
    points: Points
    treatment: tuple[DuePoint, ...] = ()  # each point of what is due: whether it is named, and dosed
    expected: dict[Aspect, tuple[str, ...]] = {}  # symptoms and findings of the record, which the truth does not have
    beliefs: tuple[tuple[int, float], ...] = ()  # after so many turns, the probability given to the right diagnosis


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A visit that is over, beside what is so, and beside others who saw the same patient.

    `record` has the symptoms and examinations of the case's record.
    """

    truth: Truth
    record: dict[str, tuple[str, ...]]
    own: PlayScore
    beside: tuple[PlayScore, ...]
    taken_back: int
    seconds: float


def record_told(record: Record) -> dict[str, tuple[str, ...]]:
    """Returns what a record has of what a report tells: symptoms, or the story of the illness, and examinations."""
    symptoms = record.history.symptoms or tuple(filter(None, (record.history.present,)))
    return {"symptoms": symptoms, "examinations": tuple(read_out(record.findings, record.presentation.language))}


class Scorer:
    """Scores visits.

    Args:
        judge: the director; by rules unless given, and where it gives no answer.
    """

    def __init__(self, knowledge: Knowledge, names: Names, *, judge: Judge | None = None) -> None:
        self._knowledge, self._names = knowledge, names
        self._judge = judge

    async def score(
        self,
        case: Case,
        visit: Visit,
        minds: Minds,
        *,
        doctor: str,
        hints: Iterable[Rung] = (),
        notes: Sequence[NotedDifferential] = (),
        conversation: bool = True,
    ) -> PlayScore:
        """Scores a visit; `minds` are those that it was held with.

        Without the conversation there are none of AIE's metrics, for which a model that plays the patient is asked.
        """
        language = case.presentation.language
        metrics, without = dict[str, float](), list[str]()
        if conversation:
            try:
                tracked = await with_states(case, visit, minds)
                scored = score(from_trace(tracked.trace, case, chosen=visit.answer))
                metrics, without = scored.values, [one.problem for one in scored.left_out]
            except (Unscorable, MissingExtra) as problem:
                without = [str(problem)]
        report = visit.report or Report(symptoms=(), examinations=(), diagnoses=(), rationale=(), treatment=())
        judged = await (self.by_rules(case, report) if self._judge is None else self._judge.grade(case, report))
        if self._judge is not None and not any(judged.grades.values()):
            why = judged.failed or next(iter(judged.unreadable.values()), "")
            without.append(f"the judge {judged.judge} gave no grade ({why}); rules graded in its place")
            judged = await self.by_rules(case, report)
        truth, given = visit.truth, visit.report
        chosen = stewardship(visit.traces, truth.diagnoses, self._knowledge, self._names)
        signs = danger_signs(case, visit.trace, given, lexicon_of(self._knowledge, language), read_red_flags())
        known = self._knowledge.symptoms | self._knowledge.examinations

        def named(ids: Iterable[str]) -> tuple[str, ...]:
            return tuple(known[id].name.get(language) if id in known else id for id in ids)

        def held_for_right(note: NotedDifferential) -> float:
            """Returns how probable what is so was held, of all that was noted; evenly where no numbers were given."""
            held = [1.0 if one.probability is None else one.probability for one in note.diagnoses]
            right = (reasoning.is_named(one.name, truth, self._knowledge) for one in note.diagnoses)
            return sum(probability for probability, is_so in zip(held, right, strict=True) if is_so) / max(sum(held), 1)

        findings = reasoning.FindingsTold(case, self._knowledge)
        shown = tuple(map(findings.expected, findings.wanted(truth.rationale)))
        lists = ("needed", "needed_missed", "helpful", "helpful_missed", "not_indicated", "other")
        names = {name: named(getattr(chosen, name)) for name in lists}
        return PlayScore(
            doctor=doctor,
            verdict=reasoning.verdict_by_code(
                None if given is None else reasoning.likeliest_first(given), truth, self._knowledge
            ),
            turns=visit.turns,
            report=given,
            metrics=metrics,
            without=tuple(without),
            judge=judged.judge,
            aspects=tuple(
                GradedAspect(
                    aspect=aspect,
                    grade=None if grade is None else grade.name,
                    analysis=judged.analyses.get(aspect, "") or judged.unreadable.get(aspect, ""),
                )
                for aspect, grade in judged.grades.items()
            ),
            stewardship=replace(chosen, **names, cost=round(chosen.cost, 1)),
            danger=DangerSigns(has=named(signs.has), missed=named(signs.missed), unreported=named(signs.unreported)),
            points=points(judged.grades, chosen, signs, hints),
            treatment=due_points(truth.treatment, report.treatment, self._knowledge),
            expected={Aspect.SYMPTOMS: case.record.history.symptoms, Aspect.EXAMINATIONS: shown},
            beliefs=tuple((note.turn, held_for_right(note)) for note in notes),
        )

    async def by_rules(self, case: Case, report: Report) -> Judgement:
        """Grades by rules, by the meaning of symptoms and not by how particularly they are named."""
        language, truth = case.presentation.language, case.truth
        rules = RulesJudge(self._knowledge, link=reasoning.link_by_code(truth, self._knowledge))
        lexicon = lexicon_of(self._knowledge, language)
        judged = await rules.grade(reasoning.by_symptom(case, report, self._knowledge.symptoms, lexicon), report)
        found = reasoning.FindingsTold(case, self._knowledge)
        due = due_points(truth.treatment, report.treatment, self._knowledge)
        # Each grade is of the very points that are shown, so that the two cannot contradict each other.
        shown = {
            Aspect.EXAMINATIONS: found.graded(truth.rationale, report.examinations),
            Aspect.RATIONALE: reasoning.reasons_graded(truth.rationale, report.rationale, lexicon, found),
            Aspect.TREATMENT: graded(due, language) if due else None,
        }
        grades, analyses = {**judged.grades}, {**judged.analyses}
        for aspect, of_points in shown.items():
            if of_points is not None:
                grades[aspect], analyses[aspect] = of_points
        grades[Aspect.DIAGNOSIS] = reasoning.by_place(grades[Aspect.DIAGNOSIS], report, truth, self._knowledge)
        return replace(judged, grades=grades, analyses=analyses)

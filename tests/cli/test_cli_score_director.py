"""`polyclinic score director` as a user meets it."""

import json

import pytest

from polyclinic.cli import main
from polyclinic.files import json_lines
from polyclinic.metrics.grades import ONE_STEP, Aspect, Grade, Judgement


@pytest.fixture
def score(capsys):
    def score(*arguments, code=0):
        with pytest.raises(SystemExit) as done:
            main(["score", "director", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert done.value.code == code, (out, err)
        if code:
            assert out == ""
            assert err.startswith("polyclinic: ")
            assert err.count("\n") == 1
            return err
        return out

    return score


def judgement(case, letter="B", doctor="x", judge="j", **changes):
    grade = None if letter is None else Grade[letter]
    return Judgement(
        **{
            "case": case,
            "doctor": doctor,
            "judge": judge,
            "version": 1,
            "grades": dict.fromkeys(Aspect, grade),
            "lengths": dict.fromkeys(Aspect, len(case)),
        }
        | changes
    )


@pytest.fixture
def write(tmp_path):
    def write_judgements(name, *judgements):
        path = tmp_path / name
        path.write_text(json_lines(judgements), encoding="utf-8")
        return path

    return write_judgements


def letters(id, diagnosis="B", basis="B", treatment="B"):
    given = "#诊断结果#\n痛风\n#诊断依据#\n关节红肿\n#治疗方案#\n秋水仙碱"
    return {
        "patient_id": id,
        "doctor_name": "d",
        "reference_diagnosis": {"diagnosis": "痛风", "basis": "关节红肿", "treatment": "秋水仙碱"},
        "doctor_diagnosis": {"patient_id": id, "diagnosis": given},
        "diagnosis_choice": diagnosis,
        "basis_choice": basis,
        "treatment_choice": treatment,
    }


@pytest.fixture
def write_letters(tmp_path):
    def write(*records, name="letters.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write


def test_letters_as_json(score, write_letters):
    path = write_letters(letters(1, "A"), letters(2, "C"), letters(3, "E", None))
    for options in ([], ["--seed", "3"]):
        document = json.loads(score(path, *options, "--json"))
        assert list(document["metrics"]) == list(Aspect)
        assert all(
            list(m) == ["mean", "stderr", "low", "high", "n", "unreadable", "bracket"]
            for m in document["metrics"].values()
        )
        diagnosis = document["metrics"]["diagnosis"]
        assert (diagnosis["mean"], diagnosis["n"], diagnosis["unreadable"]) == (3, 2, 1)
        assert document["metrics"]["symptoms"] == {
            "mean": None,
            "stderr": None,
            "low": None,
            "high": None,
            "n": 0,
            "unreadable": 0,
            "bracket": None,
        }
        assert [(one["case"], one["aspect"]) for one in document["unreadable"]] == [
            ("3", "diagnosis"),
            ("3", "rationale"),
        ]
        assert document["unreadable"][0]["problem"].startswith("'E' is none")
    paper = json.loads(score(path, "--protocol", "paper", "--json"))["metrics"]["diagnosis"]
    assert (paper["mean"], paper["n"], paper["unreadable"]) == (pytest.approx(7 / 3), 3, 1)


def test_letters_for_people(score, write_letters):
    shown = score(write_letters(letters(1, "A"), letters(2, "C"), letters(3, None)), "--protocol", "paper")
    assert "3 reports, judged by recorded" in shown
    assert "1 without a grade on diagnosis: no grade was given: 3" in shown
    assert "2.333 ± " in shown
    assert "a missing grade counts as 1" in shown


def test_the_seed_moves_the_interval_only(score, write_letters):
    path = write_letters(*(letters(n, "ABCD"[n % 4]) for n in range(30)))
    first, again, other = (score(path, "--seed", seed, "--json") for seed in (1, 1, 2))
    assert first == again
    assert json.loads(first)["metrics"]["diagnosis"]["mean"] == json.loads(other)["metrics"]["diagnosis"]["mean"]


def test_judgements_of_ours_with_two_doctors(score, write):
    judgements = [judgement(str(n), "AB"[n % 2], doctor) for n in range(6) for doctor in "xy"]
    path = write("judgements.jsonl", *judgements, judgement("9", grades={}, failed="TimedOut"))
    document = json.loads(score(path, "--json"))
    assert list(document["doctors"]) == ["x", "y"]
    assert document["doctors"]["x"]["failed"] == {"TimedOut": 1}
    assert document["ties"][0] | {"low": 0} == {
        "first": "x",
        "second": "y",
        "aspect": "symptoms",
        "n": 6,
        "ties": 6,
        "percent": 100,
        "low": 0,
        "high": 100,
    }
    shown = score(path)
    assert "not judged, and outside every mean: 1 TimedOut" in shown


def test_two_judges(score, write):
    one = write("one.jsonl", *(judgement(str(n), "ABCD"[n % 4]) for n in range(8)))
    two = write("two.jsonl", *(judgement(str(n), "ABCC"[n % 4], judge="k") for n in range(10)))
    document = json.loads(score(one, two, "--json"))
    assert [file["judge"]["name"] for file in document["files"]] == ["j", "k"]
    agreed = document["agreement"]["treatment"]
    assert (agreed["exact"]["n"], agreed["exact"]["percent"], agreed["within_one"]) == (8, 75, 100)
    assert agreed["exact"]["confusion"][3] == [0, 0, 2, 0]
    assert 0 < agreed["exact"]["kappa"] < agreed["weighted_kappa"] < 1
    assert "on the reports of both" in " ".join(score(one, two).split())


def test_a_recorded_judge_and_ours(score, write, write_letters):
    recorded = write_letters(letters(1, "A"), letters(2, "C"))
    ours = [judgement(str(n), "B", "d", one_step=True, grades=dict.fromkeys(ONE_STEP, Grade.B)) for n in (1, 2)]
    document = json.loads(score(recorded, write("ours.jsonl", *ours), "--json"))
    assert document["agreement"]["diagnosis"]["exact"]["n"] == 2
    assert document["agreement"]["symptoms"]["exact"]["n"] == 0


def test_what_cannot_be_used(score, write, write_letters, tmp_path):
    assert "no such file" in score(tmp_path / "none.jsonl", code=2)
    assert "in no known layout by the keys that came: 'a'" in score(write_letters({"a": 1}), code=2)
    assert "line 2" in score(write_letters(letters(1), {"patient_id": 2}), code=2)
    mixed = write("mixed.jsonl", judgement("1"), judgement("2", judge="k"))
    assert "grades of several judges" in score(mixed, code=2)
    one, two = write("a.jsonl", judgement("1")), write("b.jsonl", judgement("1", doctor="y"))
    assert "no report was judged in both" in score(one, two, code=2)
    assert "3 files" in score(one, two, one, code=2)
    assert "--protocol" in score(one, "--protocol", "mild", code=2)


def test_reports_without_letters_are_graded(score, write_letters, tmp_path):
    """A dialogue's last turn against the references of a published file: as right as can be, so A in all three."""
    references = write_letters(*(letters(id) for id in (1, 2)), name="references.jsonl")
    report = letters(1)["doctor_diagnosis"]["diagnosis"]
    turns = [{"turn": 0, "role": "Doctor", "content": "您好？"}, {"turn": 1, "role": "Doctor", "content": report}]
    dialogue = write_letters(
        *({"patient_id": str(id), "doctor": "x", "dialog_history": turns} for id in (1, 7)), name="dialogues.jsonl"
    )
    document = json.loads(score(dialogue, "--reference", references, "--json"))
    assert (document["judge"]["name"], document["n"]) == ("rules", 1)
    assert [document["metrics"][aspect]["mean"] for aspect in ONE_STEP] == [4, 4, 4]
    assert document["metrics"]["symptoms"]["n"] == 0
    assert "name a file with --reference" in score(dialogue, code=2)
    graded_by_rules = score(dialogue, "--reference", references, "--protocol", "paper", code=2)
    assert "has a model for the judge (§3.2); --judge is 'rules'" in graded_by_rules


def test_the_protocol_is_that_of_the_evaluation(score, write):
    """A model has to have judged, at the paper's temperature, and a missing grade counts as the paper's."""
    rules, model = (write(f"{judge}.jsonl", judgement("1", judge=judge)) for judge in ("rules", "k"))
    assert "--protocol paper has a model for the judge" in score(rules, "--protocol", "paper", code=2)
    hot = score(model, "--protocol", "paper", "--judge", "direct/j", "--temperature", "0.9", code=2)
    assert "asks the judge at temperature 0" in hot
    document = json.loads(score(model, "--protocol", "paper", "--json"))
    assert (document["protocol"], document["missing_grade"]) == ("paper", "counts 1")


def test_people_stand_beside_the_judge(score, write, tmp_path):
    path = write("judgements.jsonl", *(judgement(str(n), "ABCD"[n % 4]) for n in range(4)))
    said = [
        {"form": "grades", "case": str(n), "doctor": "x", "who": who, **dict.fromkeys(Aspect, "ABCC"[n % 4])}
        for n in range(4)
        for who in ("anna", "bea")
    ]
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text("".join(json.dumps(row) + "\n" for row in said), "utf-8")
    people = json.loads(score(path, "--verdicts", verdicts, "--json"))["people"]
    assert people["figures"]["x"]["means"]["diagnosis"]["mean"] == 2.75
    assert people["with_judge"]["diagnosis"]["exact"]["percent"] == 75
    assert people["among_themselves"][0]["alike"] == 100
    assert "people say" in score(path, "--verdicts", verdicts)
    verdicts.write_text(json.dumps(said[0] | {"case": "9"}), "utf-8")
    assert "no case '9' to speak of; there are: 0, 1, 2, 3" in score(path, "--verdicts", verdicts, code=2)


def test_what_a_file_says_cannot_steer_the_terminal(score, write):
    shown = score(
        write("a.jsonl", judgement("1\x1b[31m", None, judge="[bold]k\x1b[2J", unreadable={"diagnosis": "\x1b[0m"}))
    )
    assert "\x1b" not in shown
    assert "[bold]k" in shown


@pytest.mark.slow
def test_published_means(run, shared_data):
    path = shared_data / "cases/ai_hospital/evaluation_iiyi_gpt4_onestep.jsonl"
    metrics = json.loads(run("score", "director", path, "--json").stdout)["metrics"]
    assert [round(metrics[aspect]["mean"], 3) for aspect in ONE_STEP] == [2.767, 2.998, 2.608]
    assert (metrics["treatment"]["n"], metrics["treatment"]["unreadable"]) == (502, 4)
    done = run("score", "director", path, "--protocol", "paper", "--json")
    # As the paper prints them, half the interval of its bootstrap: some 1.96 standard errors.
    metrics = json.loads(done.stdout)["metrics"]
    assert [round(metrics[aspect]["bracket"], 3) for aspect in ONE_STEP] == [0.049, 0.040, 0.055]
    assert round(json.loads(done.stdout)["metrics"]["treatment"]["mean"], 3) == 2.595

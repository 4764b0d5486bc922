"""`polyclinic eval examiner` on the command line."""

import json

import pytest

ASKED = "<To the examiner> Please do a flu test and take a film of my chest."
REPLY = "- chest X-ray: none"


def dialogues(folder, *said, case="p1-00001"):
    path = folder / "dialogues.jsonl"
    history = [{"turn": 1, "role": role, "content": content} for role, content in said]
    path.write_text(json.dumps({"patient_id": case, "dialog_history": history}) + "\n", "utf-8")
    return path


def labels(folder, request, *examinations):
    path = folder / "labels.jsonl"
    line = {"case": "p1-00001", "request": request, "examinations": list(examinations)}
    path.write_text(json.dumps(line) + "\n", "utf-8")
    return path


def test_the_document_holds_the_figures_and_every_request(run, tmp_path):
    said = dialogues(tmp_path, ("Patient", ASKED), ("Reporter", REPLY))
    request = ASKED.partition("> ")[2]
    ordered = labels(tmp_path, request, "chest X-ray", "viral antigen detection", "nucleic acid amplification test")
    options = ("eval", "examiner", "--cases", "shipped", "--dialogues", said, "--labels", ordered)
    document = json.loads(run(*options, "--json").stdout)
    figures = {name: document[name] for name in ("requests", "left_out", "ordered", "given", "beyond", "false_normal")}
    assert figures == {"requests": 1, "left_out": 0, "ordered": 3, "given": 3, "beyond": 0, "false_normal": 0}
    assert (document["examiner"], document["rows"][0]["request"]) == ("rules", request)
    shown = run(*options).stdout
    assert "3 of 3" in shown
    assert "as a person labelled them" in shown


def test_without_labels_it_is_said_that_the_reply_is_no_standard(run, tmp_path):
    said = dialogues(tmp_path, ("Patient", ASKED), ("Reporter", REPLY))
    shown = run("eval", "examiner", "--cases", "shipped", "--dialogues", said).stdout
    assert "it is no standard" in shown
    assert "not ordered: chest X-ray, viral antigen detection" in shown.replace("nucleic acid amplification test, ", "")


@pytest.mark.parametrize(
    ("turns", "case", "label", "problem"),
    [
        ([("Doctor", "Hello")], "p1-00001", None, "no request to an examiner stands in it"),
        ([("Patient", ASKED)], "p9-1", None, "none of its 1 dialogues is of a case in the case file"),
        ([("Patient", ASKED)], "p1-00001", "something else", "no dialogue of the case p1-00001 holds this request"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, turns, case, label, problem):
    options = ["--dialogues", dialogues(tmp_path, *turns, case=case)]
    options += ["--labels", labels(tmp_path, label, "chest X-ray")] if label else []
    done = run("eval", "examiner", "--cases", "shipped", *options, code=2)
    assert problem in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_labels_name_of_nothing_recorded_is_said_on_stderr(run, tmp_path):
    said = dialogues(tmp_path, ("Patient", ASKED), ("Reporter", REPLY))
    ordered = labels(tmp_path, ASKED, "chest X-ray", "electroencephalogram")
    done = run("eval", "examiner", "--cases", "shipped", "--dialogues", said, "--labels", ordered, "--json")
    assert "1 names of labels are of nothing recorded" in done.stderr
    document = json.loads(done.stdout)
    assert (document["unknown"], document["missing"], document["ordered"]) == (1, "normal", 1)

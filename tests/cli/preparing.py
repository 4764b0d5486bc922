"""A folder with whatever some command reads, made by commands of ours."""

import json
import re

import pytest
from tests.cli.test_batches_everywhere import write_recorded

PLAN = """
title = "Two methods"
models = ["direct/a"]
seeds = [0]
[[run]]
name = "exam"
command = "eval exam"
exam = "medqa"
questions = "exam.jsonl"
method = ["zero_shot", "chain_of_thought"]
"""


def lines(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def of_numbers(n):
    texts = dict(zip("ABCD", ("asthma", "gout", "measles", "scurvy"), strict=True))
    four = {f"op{letter.lower()}": text for letter, text in texts.items()}
    asked = {"question": f"Which, of number {n}?"}
    return (
        asked | {"answer": "gout", "options": texts, "meta_info": "step1", "answer_idx": "B"},
        asked | four | {"exp": None, "cop": 1, "subject_name": "Medicine", "topic_name": None, "id": f"m-{n}",
                        "choice_type": "single"},
        {"QUESTION": f"Does number {n}?", "CONTEXTS": ["It was tried."], "LABELS": ["RESULTS"], "MESHES": [],
         "YEAR": "2011", "reasoning_required_pred": "yes", "reasoning_free_pred": "yes", "final_decision": "yes",
         "LONG_ANSWER": "It does."},
    )  # fmt: skip


@pytest.fixture(scope="module", name="prepared")
def _prepared(run, tmp_path_factory):
    """A folder with whatever one of the commands reads."""
    folder = tmp_path_factory.mktemp("prepared")
    write_recorded(folder)
    letter, dialogue = (json.loads((folder / f"{name}.jsonl").read_text()) for name in ("references", "dialogues"))
    numbered = [("痛风", "关节红肿"), ("哮喘", "喘息"), ("肺炎", "咳嗽"), ("胃炎", "胃痛")]
    for name, one in (("references", letter), ("dialogues", dialogue)):
        texts = (json.dumps(one, ensure_ascii=False).replace("痛风", a).replace("关节红肿", b) for a, b in numbered)
        each = (re.sub(r'("patient_id": "?)1', rf"\g<1>{n}", text) for n, text in enumerate(texts, 1))
        (folder / f"{name}.jsonl").write_text("".join(f"{text}\n" for text in each))
    asked = [json.loads((folder / "asked.jsonl").read_text())]
    turns = ("a film of my chest", "a blood count", "an ECG", "an ultrasound of the belly")
    asked[0]["dialog_history"] = [
        {"turn": n, "role": "Patient", "content": f"<To the examiner> Please take {what}."}
        for n, what in enumerate(turns, 1)
    ]
    (folder / "asked.jsonl").write_text(lines(*asked))
    for name, n in (("train", 24), ("test", 4), ("many", 64)):
        run("cases", "generate", "--n", n, "--diseases", "respiratory", "--seed", n, "--out", folder / f"{name}.jsonl")
    medqa, medmcqa, pubmedqa = zip(*map(of_numbers, range(4)), strict=True)
    (folder / "exam.jsonl").write_text(lines(*medqa))
    (folder / "medmcqa.jsonl").write_text(lines(*medmcqa))
    (folder / "pubmedqa.json").write_text(json.dumps({str(n): one for n, one in enumerate(pubmedqa)}))
    (folder / "mmlu").mkdir()
    rows = "".join(f"Which of {n}?,asthma,gout,measles,scurvy,B\n" for n in range(4))
    (folder / "mmlu" / "anatomy_test.csv").write_text(rows)
    others = ("myocardial infarction", "gout", "angina", "flu")
    (folder / "pairs.jsonl").write_text(lines(*({"a": "heart attack", "b": other} for other in others)))
    passages = [
        {"id": str(n), "title": f"Gout {n}", "text": f"Gout {n} is an illness of the joints."} for n in range(200)
    ]
    (folder / "docs.jsonl").write_text(lines(*passages))
    (folder / "few.jsonl").write_text(lines(*passages[:4]))
    (folder / "plan.toml").write_text(PLAN)
    run("corpus", "add", "books", "few.jsonl", "--library", "lib", cwd=folder)
    run(
        "cases",
        "patient-test",
        "--cases",
        "many.jsonl",
        "--limit",
        12,
        "--set",
        "patient-test.rounds=1",
        "--out",
        "labelled.json",
        cwd=folder,
    )
    run("eval", "exam", "medqa", "exam.jsonl", "--model", "made-up", "--out", "answered", cwd=folder)
    run(
        "evolve", "--train", "train.jsonl", "--test", "test.jsonl", "--ablations", "no", "--out", "practice", cwd=folder
    )
    run("memory", "show", "practice", "--out", "exported.jsonl", cwd=folder)
    return folder

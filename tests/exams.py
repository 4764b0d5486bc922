"""Exams of which every answer is known, for tests of what is done with the questions."""

import json
from collections.abc import Iterable
from pathlib import Path

from polyclinic.evaluations.exams.declaration import SUBJECTS


def write_exam(path: Path, numbers: Iterable[int], *, text: str = "number {}?") -> Path:
    """Writes questions in MedQA's layout, one a number, each of four options, and A is right; returns the path."""
    options = {letter: f"finding {letter}" for letter in "ABCD"}
    lines = ({"question": text.format(number), "options": options, "answer_idx": "A"} for number in numbers)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def write_nine_sets(folder):
    """Writes an invented question of each set, in its published layout; returns the options that name the files."""
    options = dict(zip("ABCD", ("asthma", "gout", "measles", "scurvy"), strict=True))
    files = {
        "medqa": {"question": "Which?", "answer": "gout", "options": options, "meta_info": "step1", "answer_idx": "B"},
        "medmcqa": {
            "question": "Which one?", "exp": None, "cop": 1, "opa": "asthma", "opb": "gout", "opc": "measles",
            "opd": "scurvy", "subject_name": "Medicine", "topic_name": None, "id": "m-1", "choice_type": "single",
        },
        "pubmedqa": {
            "1": {
                "QUESTION": "Does it?", "CONTEXTS": ["It was tried."], "LABELS": ["RESULTS"], "MESHES": [],
                "YEAR": "2011", "reasoning_required_pred": "yes", "reasoning_free_pred": "yes",
                "final_decision": "yes", "LONG_ANSWER": "It does.",
            }
        },
    }  # fmt: skip
    for name, record in files.items():
        (folder / f"{name}.json").write_text(json.dumps(record) + "\n", "utf-8")
    (folder / "mmlu").mkdir()
    for subject in (*SUBJECTS, "astronomy"):  # the published folder has others too
        rows = f"What of {subject}?,one,two,three,four,A\n"
        (folder / "mmlu" / f"{subject.replace(' ', '_')}_test.csv").write_text(rows, "utf-8")
    return [word for name in files for word in (f"--{name}", folder / f"{name}.json")] + ["--mmlu", folder / "mmlu"]

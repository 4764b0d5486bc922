"""What commands are given where the name of an option does not tell it: files that are right, and work to do."""

import json
from collections.abc import Callable
from pathlib import Path

from bench.attack_files import call, practised
from bench.readers import labelled

_MODEL = "direct/m"
_CASE = "shipped#p1-00001"
_PLAN = """
title = "one"
models = ["direct/m"]
[[run]]
name = "aie"
command = "eval aie"
cases = "shipped"
limit = 1
"""
_PASSAGE = {"id": "1", "title": "Gout", "text": "Gout is an inflammation of a joint by crystals of urate."}

_REPORT = {"patient_id": 1, "doctor_diagnosis": {"diagnosis": "gout"}, "reference_diagnosis": {"diagnosis": "gout"}}

Words = tuple[object, ...]


def _practice(folder: Path) -> None:
    for name, seed in (("train", 1), ("test", 2)):
        out = folder / f"{name}.jsonl"
        call("cases", "generate", "--n", 2, "--diseases", "respiratory", "--seed", seed, "--out", out)


def _evolve(folder: Path) -> Words:
    _practice(folder)
    return (
        "--train",
        folder / "train.jsonl",
        "--test",
        folder / "test.jsonl",
        "--doctor",
        _MODEL,
        "--out",
        folder / "out",
    )


def _exported(folder: Path) -> Words:
    call("memory", "show", practised(folder), "--out", folder / "exported.jsonl")
    return (folder / "exported.jsonl", "--out", folder / "built", "--embedder", _MODEL)


def _corpus(folder: Path) -> Words:
    call("corpus", "add", "books", _put(folder, "books.jsonl", _PASSAGE), "--library", folder / "books")
    return ("books",)


def _put(folder: Path, name: str, *records: object) -> Path:
    (folder / name).write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return folder / name


def _one_case(folder: Path) -> Path:
    call("cases", "generate", "--n", 1, "--diseases", "respiratory", "--out", folder / "one.jsonl")
    return folder / "one.jsonl"


def _questions(folder: Path) -> Path:
    asked = {"question": "Which?", "options": {"A": "x", "B": "y"}, "answer_idx": "A", "answer": "x"}
    return _put(folder, "q.jsonl", asked, asked | {"question": "And which?"})


def _plan(folder: Path) -> Words:
    (folder / "plan.toml").write_text(_PLAN, encoding="utf-8")
    return (folder / "plan.toml", "--out", folder / "out", "--set", "run.max-failures=100")


GIVEN: dict[str, Callable[[Path], Words]] = {
    "evolve": _evolve,
    "ask": lambda _: (_CASE, "--patient", _MODEL, "Since when?"),
    "cases patient-test": lambda at: ("--cases", "shipped", "--limit", 1, "--writer", _MODEL, "--out", at / "out"),
    "cases convert": lambda at: (_one_case(at), "--persona", "plain", "--writer", _MODEL, "--out", at / "out"),
    "corpus add": lambda at: (
        "books",
        _put(at, "books.jsonl", _PASSAGE),
        "--embedder",
        _MODEL,
        "--library",
        at / "books",
    ),
    "corpus search": lambda at: (*_corpus(at), "gout", "--by", "bm25", "--library", at / "books"),
    "eval aie": lambda at: ("--cases", "shipped", "--limit", 1, "--doctor", _MODEL, "--out", at / "out"),
    "eval patient-simulator": lambda at: ("--cases", _put(at, "l.json", [labelled()]), "--patient", _MODEL),
    "eval exam": lambda at: ("medqa", _questions(at), "--model", _MODEL, "--method", "zero_shot"),
    "eval tor": lambda at: ("--cases", "inpatients", "--limit", 1, "--model", _MODEL, "--out", at / "out"),
    "score director": lambda at: (_put(at, "r.jsonl", _REPORT), "--judge", _MODEL),
    "score icd": lambda at: (_put(at, "r.jsonl", _REPORT),),
    "study run": _plan,
    "memory build": _exported,
    "memory read": lambda at: (
        at / "read",
        *("--corpus", at / "books" / _corpus(at)[0], "--doctor", _MODEL, "--embedder", "case-words"),
    ),
    "knowledge compare": lambda at: (_put(at, "n.jsonl", {"a": "gout", "b": "asthma"}), "--judge", _MODEL),
}
"""By command: makes the files that it needs, and returns the words behind its name."""

ASKS_NOBODY = {
    "run": "is stopped before anybody falls ill",
    "serve": "asks when somebody plays",
    "cases generate": "draws without a writer",
    "corpus search": "searches by words",
    "memory show": "shows what was remembered last",
    "eval examiner": "has no recorded dialogues here",
    "score icd": "links by rules",
}
"""Commands that end here before they ask a model, and why."""

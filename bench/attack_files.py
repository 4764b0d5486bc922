"""Every file that the package writes, corrupted."""

import asyncio
import contextlib
import functools
import io
import json
import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.attack import Tried
from polyclinic.cases.presentation import Question
from polyclinic.cli import main
from polyclinic.errors import PolyclinicError
from polyclinic.knowledge.disease_names import running_text as kept_words
from polyclinic.knowledge.disease_names.giveaways import read_giveaways
from polyclinic.knowledge.disease_names.relation import reader as name_reader
from polyclinic.knowledge.disease_names.running_text import vocabulary
from polyclinic.memory.memory import About
from polyclinic.memory.reading import PassageRead, Studied, StudyRecord, open_reading
from polyclinic.models.journal import Journal
from polyclinic.models.scripted import Scripted

_QUESTIONS = 40
_STUDY = """
title = "One doctor"
models = ["rules"]
[[run]]
name = "aie"
command = "eval aie"
cases = "shipped"
limit = 2
"""
_SECONDS = re.compile(r"[\d.]+ s\b|\"(?:wall_)?seconds\": *[\d.e-]+")


def call(*words: object) -> tuple[int, str, str]:
    """Runs a command in this process; returns its exit code and what it printed, and raises what it let through."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(word) for word in words])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return code, _SECONDS.sub("", out.getvalue()), err.getvalue()


def corrupted(seed: int, n: int, *, runs: bool = True) -> list[Tried]:
    """Flips, cuts and overwrites bytes of what is kept, and reads it: the same comes of it, or one line of ours."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        kept = _kept(Path(folder), runs=runs)
        failed: dict[str, list[str]] = {what: [] for what, _, _ in kept}
        tries = dict.fromkeys(failed, 0)
        for number in range(n):
            what, whole, read = kept[number % len(kept)]
            copy = Path(folder) / "copy"
            expected = _read_once(what, whole, copy, read)
            _copy(whole, copy)
            path = rng.choice(sorted(p for p in copy.rglob("*") if p.is_file() and p.stat().st_size))
            how = corrupt(path, rng)
            tries[what] += 1
            wrong = _outcome(lambda copy=copy, read=read: read(copy), expected)
            if wrong:
                failed[what].append(f"try {number}: {path.relative_to(copy)} {how}: {wrong}")
        _read_once.cache_clear()
    return [Tried(f"corrupted {what}", tries[what], tuple(failed[what])) for what in tries]


def stores(seed: int, n: int) -> list[Tried]:
    """Corrupts what is kept beside runs: journals and corpora, half of the tries each."""
    return corrupted(seed, n, runs=False)


@functools.cache
def _read_once(_: str, whole: Path, copy: Path, read: Callable[[Path], tuple[int, str, str]]) -> tuple[str, str]:
    _copy(whole, copy)
    code, out, err = read(copy)
    assert code == 0, err
    return out, err


def _copy(whole: Path, copy: Path) -> None:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)


def _outcome(read: Callable[[], tuple[int, str, str]], expected: tuple[str, str]) -> str:
    """Returns what is wrong with how a corrupted file was read, "" where nothing is."""
    try:
        code, out, err = read()
    except PolyclinicError:
        return ""
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    if "Traceback" in err:
        return err[-200:]
    if code == 0 and out != expected[0] and err == expected[1]:
        return "another result, without a word"
    if code and len(err.strip().splitlines()) != 1:
        return f"not one line: {err[:200]!r}"
    return ""


def corrupt(path: Path, rng: random.Random) -> str:
    """Makes some bytes of a file wrong, and says how."""
    raw = bytearray(path.read_bytes())
    at = rng.randrange(len(raw))
    how = rng.choice(("flip", "flip", "cut", "noise", "zero", "swap"))
    if how == "flip":
        raw[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del raw[at:]
    elif how == "noise":
        raw[at : at + 64] = rng.randbytes(min(64, len(raw) - at))
    elif how == "zero":
        raw[at : at + 512] = bytes(min(512, len(raw) - at))
    else:
        other = rng.randrange(len(raw))
        raw[at], raw[other] = raw[other], raw[at]
    path.write_bytes(bytes(raw))
    return f"{how} at {at}"


Kept = tuple[str, Path, Callable[[Path], tuple[int, str, str]]]


def _kept(folder: Path, *, runs: bool) -> list[Kept]:
    """Writes one of everything that the package keeps, with `runs` also a run; returns each with how it is read."""
    run, journal, corpus = folder / "run", folder / "journal", folder / "corpus"
    if runs:
        call("run", "--residents", 30, "--visits", 4, "--days", 1, "--out", run, "--json")
    journal.mkdir()
    asyncio.run(_asked(journal / "calls.sqlite"))
    prose = folder / "prose.txt"
    prose.write_text("\n\n".join(f"Passage {n}: gout and its friends, told the {n}th time." for n in range(30)))
    corpus.mkdir()
    call("corpus", "add", "friends", prose, "--library", corpus, "--embedder", "wordllama")
    found = ("corpus", "search", "friends", "gout", "--by", "hybrid", "--json", "--library")
    practice, played, books = practised(folder), folder / "played", folder / "books"
    call("eval", "aie", "--cases", "shipped", "--limit", 3, "--doctor", "rules", "--out", played)
    _study(books)
    trace, study, judged = _traced(folder / "trace"), _studied(folder / "study"), _judged(folder / "judged")
    several = folder / "several"
    if runs:
        call("run", "--residents", 20, "--visits", 2, "--days", 1, "--replicas", 2, "--out", several, "--json")
    call("evolve", *_files(folder), "--ablations", "no", "--replicas", 2, "--out", folder / "practices")
    kept: list[Kept] = [
        ("trace, replayed", trace, lambda at: call("replay", at / "trace.jsonl")),
        ("trace, scored", trace, lambda at: call("score", "aie", at / "trace.jsonl", "--cases", "shipped", "--json")),
        (
            "verdicts",
            judged,
            lambda at: call("verdicts", "agreement", at / "verdicts.jsonl", "--strict", "--json"),
        ),
        ("table of verdicts", judged, lambda at: call("verdicts", "agreement", at / "verdicts.csv", "--json")),
        ("study, shown", study, lambda at: call("results", "show", at, "--json")),
        ("study, taken up", study, _study_again),
        ("runs of several seeds, compared", several, lambda at: call("results", "compare", at, several, "--json")),
        ("practices of several seeds", folder / "practices", lambda at: call("results", "show", at, "--json")),
        ("words of names", folder / "cache", _names_read),
        ("memory, shown", practice, lambda at: call("memory", "show", at, "--limit", 1_000, "--json")),
        (
            "practice, taken up",
            practice,
            lambda at: call("evolve", *_files(folder), "--ablations", "no", "--out", at, "--json"),
        ),
        ("what was read", books, _what_was_read),
        ("results, shown", played, lambda at: call("results", "show", at, "--json")),
        ("dialogues, replayed", played, lambda at: call("replay", at)),
        ("dialogues, judged", played, lambda at: call("score", "aie", at, "--cases", "shipped", "--json")),
        ("run, reported", run, lambda at: call("report", at, "--json")),
        ("run, replayed", run, lambda at: call("replay", at)),
        (
            "run, resumed",
            run,
            lambda at: call("run", "--residents", 30, "--visits", 4, "--days", 1, "--out", at, "--json"),
        ),
        ("journal", journal, _from_journal),
        ("corpus", corpus, lambda at: call(*found, at)),
    ]
    _names_kept(folder / "cache")
    return kept if runs else [one for one in kept if not one[0].startswith("run")]


def _traced(folder: Path) -> Path:
    folder.mkdir()
    call("consult", "shipped#p1-00001", "--doctor", "rules", "--out", folder / "trace.jsonl", "--json")
    return folder


def _studied(folder: Path) -> Path:
    """Runs a small study; returns its folder, with the plan in it."""
    folder.mkdir()
    (folder / "plan.toml").write_text(_STUDY, encoding="utf-8")
    _study_again(folder)
    return folder


def _study_again(folder: Path) -> tuple[int, str, str]:
    return call("study", "run", folder / "plan.toml", "--out", folder / "out", "--json")


def _judged(folder: Path) -> Path:
    """Has two people judge a visit's rounds; returns where their verdicts are kept."""
    folder.mkdir()
    trace, sheet = folder.parent / "trace" / "trace.jsonl", folder.parent / "sheet.jsonl"
    call("verdicts", "export", "rounds", trace, "--cases", "shipped", "--out", sheet)
    rows = [json.loads(line) for line in sheet.read_text("utf-8").splitlines()]
    asked = ("relevant", "consistent", "suggested", "examined")
    said = [row | {"who": who} | dict.fromkeys(asked, "yes") for who in ("anna", "bea") for row in rows]
    sheet.with_name("said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said), encoding="utf-8")
    for name in ("verdicts.jsonl", "verdicts.csv"):
        call("verdicts", "import", sheet.with_name("said.jsonl"), "--items", sheet, "--out", folder / name)
    return folder


@contextlib.contextmanager
def _cached(folder: Path) -> Iterator[None]:
    """While it lasts, what is kept for the next process is kept there."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    kept_words.kept.cache_clear()
    try:
        yield
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before
        kept_words.kept.cache_clear()


def _names_kept(folder: Path) -> None:
    with _cached(folder):
        made = name_reader()
        kept_words.keep(vocabulary(), made.learnt, read_giveaways())


def _names_read(folder: Path) -> tuple[int, str, str]:
    # What is damaged is read anew from the files of the package.
    with _cached(folder):
        kept = kept_words.kept()
    return int(kept is None), "" if kept is None else repr(kept), "damaged, and read anew"


def _files(folder: Path) -> tuple[object, ...]:
    return ("--train", folder / "train.jsonl", "--test", folder / "test.jsonl")


def practised(folder: Path) -> Path:
    """Lets a doctor practise on a few patients; returns where what it remembers is kept."""
    for seed, (name, n) in enumerate((("train", 12), ("test", 4))):
        drawn = ("--n", n, "--diseases", "respiratory", "--seed", seed)
        call("cases", "generate", *drawn, "--out", folder / f"{name}.jsonl")
    call("evolve", *_files(folder), "--ablations", "no", "--out", folder / "practice")
    return folder / "practice"


def _study(folder: Path) -> None:
    """Keeps what a doctor has read."""
    by = {"evidence": "it says so", "written_by": "m", "answered_by": "m"}
    with open_reading(folder, About(embedder="none", dimensions=2)) as library:
        for n in range(_QUESTIONS):
            asked = Question(id=f"q{n}", stem=f"question {n}", options={"A": "yes", "B": "no"})
            record = StudyRecord(passage=f"p{n}", question=asked, key="A", reasoning="as it says", **by)
            studied = Studied(passage=f"p{n}", records=(record,))
            library.commit([PassageRead(studied, np.full((1, 2), n, dtype=np.float32))])


def _what_was_read(folder: Path) -> tuple[int, str, str]:
    with open_reading(folder) as library:
        return 0, repr([(one.studied, one.vectors.tolist()) for one in library.read()]), ""


async def _asked(path: Path) -> str:
    """Asks so many questions through a journal; returns the answers."""
    async with Journal(path) as journal:
        model = journal.wrap(Scripted(lambda messages: f"answer to {messages[-1][1]}"))
        return " ".join([(await model.ask(f"question {n}")).text for n in range(_QUESTIONS)])


def _from_journal(folder: Path) -> tuple[int, str, str]:
    # What is not found is asked for again, and answered as before: it may cost, but it is no other answer.
    return 0, asyncio.run(_asked(folder / "calls.sqlite")), ""

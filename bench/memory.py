"""A doctor's memory: large, growing, and killed in the middle of its practice."""

import asyncio
import json
import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from polyclinic.cases.loaders import write_cases
from polyclinic.evaluations.evolution.patients import practice_patients
from polyclinic.evaluations.evolution.practice import Practice
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import AskedTask, ClinicalTask, MedicalRecord
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import PATIENTS, About, New, Note, open_memory
from polyclinic.memory.recall import RecallDoctor

RECORDS, WIDE = 100_000, 256
RETRIEVAL_BAR, ADD_BAR, MEMORY_BAR = 8.0, 2.0, 500
FEW, MANY, AROUND = 1_000, 10_000, 500
FLAT = 1.2
KILLS, PRACTISED, TESTED = 10, 400, 40
TURN = 25
SAID = "a wet cough\na feeling of being out of breath\nwhite blood cell count: high\n" * 6


def run(part=None):
    if part in (None, "--large"):
        # One thread, so that its CPU time is what a look takes, and not how busily two threads wait for each other.
        os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with get_context("spawn").Pool(1) as alone:
            print(alone.apply(large))
    if part in (None, "--flat"):
        print(flat())
    if part in (None, "--kill"):
        print(kill())


def held(measured, bar):
    """Returns the most that something may be, and whether it is."""
    return f"bar {bar:g}: {'met' if measured <= bar else 'MISSED'}"


def large():
    """Fills a memory, and looks things up in it; the process is its own, for the memory that it takes."""
    rng = np.random.default_rng(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def vectors(n):
        rows = rng.normal(size=(n, WIDE)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def new(number, vector):
        asked = AskedTask(case=f"p{number}", number=number, query=f"{SAID}{number}", options=("a", "b"))
        return New(ClinicalTask.DIAGNOSIS, MedicalRecord(asked=asked, answer="a", reasoning="so it was"), vector)

    with TemporaryDirectory() as folder:
        about = About(embedder="random", dimensions=WIDE, knowledge="none")
        with open_memory(Path(folder), about) as memory:
            for first in range(0, RECORDS, 1000):
                memory.commit([new(first + n, vector) for n, vector in enumerate(vectors(1000))])
            adds = []
            for n, vector in enumerate(vectors(300)):
                began = time.perf_counter()
                memory.commit([new(RECORDS + n, vector)], [Note(RECORDS + n, "batch", b"")])
                adds.append(1000 * (time.perf_counter() - began))
            looks, worked, readings = [], [], []
            every = memory.records[ClinicalTask.DIAGNOSIS].vectors
            for vector in vectors(200):
                began, cpu = time.perf_counter(), time.process_time()
                memory.recall(ClinicalTask.DIAGNOSIS, vector, (3, 3))
                looks.append(1000 * (time.perf_counter() - began))
                worked.append(1000 * (time.process_time() - cpu))
                cpu = time.process_time()
                _ = every @ vector
                readings.append(1000 * (time.process_time() - cpu))
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began = time.perf_counter()
        with open_memory(Path(folder)):
            opened = time.perf_counter() - began
    look, work, reading, add = map(statistics.median, (looks, worked, readings, adds))
    lines = [
        f"{RECORDS:,} records of {WIDE} dimensions; opened in {opened:.1f} s",
        f"  the nearest 3, median {work:.2f} ms of CPU in one thread, {held(work, RETRIEVAL_BAR)}; "
        f"{work / reading:.2f} times the product with all vectors alone; {look:.2f} ms by the clock",
        f"  one more, committed, median {add:.2f} ms, {held(add, ADD_BAR)}",
        f"  memory of the process {taken:.0f} MB, {before:.0f} before; {held(taken, MEMORY_BAR)}",
    ]
    return "\n".join(lines)


def flat():
    """Compares in CPU time what a patient costs a doctor who has seen 1,000, and one who has seen 10,000.

    They practise in turn, a few patients at a time, so that whatever else the machine does is borne by both.
    """
    knowledge = read_knowledge().select("respiratory")
    patients = practice_patients(list(generate(knowledge, n=MANY + AROUND, seed=20_613)), knowledge)
    about = About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases")
    with ExitStack() as stack:
        practices, costs = [], [[], []]
        for _ in costs:
            folder = stack.enter_context(TemporaryDirectory())
            memory = stack.enter_context(open_memory(Path(folder), about))
            practices.append(Practice(RecallDoctor(seed=1), memory, CaseWordsEmbedder()))

        def treat(which, first, last):
            async def one_by_one():
                for patient in patients[first:last]:
                    await practices[which]._learn_from([patient])

            began = time.process_time()
            asyncio.run(one_by_one())
            return 1000 * (time.process_time() - began) / (last - first)

        for which, n in enumerate((FEW, MANY)):
            treat(which, 0, n - AROUND)
        for step in range(0, 2 * AROUND, TURN):
            for which, n in enumerate((FEW, MANY)):
                first = n - AROUND + step
                costs[which].append(treat(which, first, first + TURN))
    few, many = map(statistics.median, costs)
    return (
        f"a patient of the practice costs {few:.2f} ms of CPU after {FEW:,}, {many:.2f} after {MANY:,}, in turns of "
        f"{TURN}; ratio {many / few:.2f}, {held(many / few, FLAT)}"
    )


def kill():
    """Kills a practice at ten moments, goes on with each, and compares what is left with what was never killed."""
    with TemporaryDirectory() as here:
        folder = Path(here)
        knowledge = read_knowledge().select("respiratory")
        words = [sys.executable, "-m", "polyclinic", "evolve"]
        files = []
        for name, n, seed in (("train", PRACTISED, 31), ("test", TESTED, 32)):
            write_cases(folder / f"{name}.jsonl", generate(knowledge, n=n, seed=seed))
            files += [f"--{name}", str(folder / f"{name}.jsonl")]
        options = [*files, "--set", "practice.test-every=50", "--ablations", "no"]
        subprocess.run([*words, *options, "--out", str(folder / "whole")], check=True, capture_output=True)
        whole, same, moments = _left(folder / "whole"), 0, []
        for n in range(KILLS):
            out = folder / f"killed{n}"
            started = subprocess.Popen(
                [*words, *options, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            wanted = 1 + n * (PRACTISED - 20) // (KILLS - 1)
            while started.poll() is None and _treated(out) < wanted:
                time.sleep(0.005)
            started.send_signal(signal.SIGKILL)
            started.wait()
            moments.append(_treated(out))
            subprocess.run([*words, *options, "--out", str(out)], check=True, capture_output=True)
            same += _left(out) == whole
    told = ", ".join(map(str, moments))
    return f"killed after {told} of {PRACTISED} patients; the same memory and curve in {same} of {KILLS}"


def _treated(folder):
    """Returns how many patients of a practice are committed."""
    try:
        with sqlite3.connect(f"file:{folder / PATIENTS.file}?mode=ro", uri=True) as file:
            return file.execute("SELECT max(patients) FROM practice WHERE what = 'batch'").fetchone()[0] or 0
    except sqlite3.Error:
        return 0


def _left(folder):
    """Returns all that is left of a practice: the memory, bit for bit, and the results but for their seconds."""
    with sqlite3.connect(folder / PATIENTS.file) as file:
        rows = [file.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in ("entries", "practice")]
    return rows, json.loads((folder / "summary.json").read_text()) | {"wall_seconds": 0}


if __name__ == "__main__":
    run()

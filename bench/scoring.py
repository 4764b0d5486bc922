"""Scoring two hundred recorded dialogues on one core, from the files to means, intervals and differences."""

import json
import os
import random
import resource
import tempfile
import time
from pathlib import Path

from polyclinic.events import State
from polyclinic.metrics.conversation import METRICS, compare, score, summarise
from polyclinic.metrics.dialogue import read_dialogues

DIALOGUES = 200
TURNS = 10
SECONDS_ALLOWED = 5.0
SEED = 20_261
RECORDED = Path("cases/aie/recorded")
WORDS = {
    "zh": "患者 咳嗽 发热 三天 没有 疼痛 检查 提示 右肺 阴影 血压 130/80mmHg 体温 38.5℃ 医生 建议 治疗".split(),
    "en": "the patient has had a fever and dry cough for three days with no chest pain since his last visit".split(),
}


def run() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    folder = Path(os.environ.get("POLYCLINIC_DATA", Path(__file__).parents[2] / "shared" / "data")) / RECORDED
    if folder.is_dir():
        paths = [
            [folder / data_set / f"{doctor}.json" for doctor in ("chatgpt", "internlm-20b")]
            for data_set in ("HospitalCases", "MedicalExam")
        ]
        measure("recorded dialogues of one doctor", [pair[0] for pair in paths], paths)
        return
    with tempfile.TemporaryDirectory() as made:
        paths = [
            [write(Path(made) / f"{language}-{i}.json", language, n, SEED + i) for i in range(2)]
            for language, n in (("zh", 50), ("en", 150))
        ]
        measure("made-up dialogues of the recorded size (the recorded ones are not here)", [p[0] for p in paths], paths)


def measure(what: str, one_doctor: list[Path], pairs: list[list[Path]]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    summaries = [read(path) for path in one_doctor]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    n = sum(len(summary.scores) for summary in summaries)
    print(f"{n} {what}: {cpu:.2f} s CPU, {wall:.2f} s wall (allowed: {SECONDS_ALLOWED:.0f} s)")
    print(f"memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    wall = time.perf_counter()
    compared = sum(len(compare({str(path): read(path) for path in pair})) for pair in pairs)
    print(f"two doctors on {n} cases, with {compared} paired differences: {time.perf_counter() - wall:.2f} s more")
    for path, summary in zip(one_doctor, summaries, strict=True):
        cells = ", ".join(
            f"{m} {e.mean:.2f}±{e.stderr:.2f}" for m in METRICS if (e := summary.metrics[m]).mean is not None
        )
        print(f"{path.parent.name}/{path.stem}: {cells}")


def read(path: Path):
    dialogues, left_out = read_dialogues(path)
    return summarise([score(dialogue) for dialogue in dialogues], left_out=left_out)


def write(path: Path, language: str, n: int, seed: int) -> Path:
    draw = random.Random(seed)
    between = "" if language == "zh" else " "

    def words(count):
        return between.join(draw.choices(WORDS[language], k=count))

    states = [state for state in State if state is not State.OPENING]
    records = [
        {
            "id": number,
            "raw_data": {"question": words(120), "options": {"A": "x", "B": "y"}, "answer_idx": "A"},
            "diagnosis": draw.choice("AB"),
            "history": [
                {"doctor": words(30), "state": draw.choice(states) if turn else State.OPENING, "patient": words(30)}
                for turn in range(TURNS)
            ],
        }
        for number in range(n)
    ]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path

"""The results of 40 rows of commands are the recorded ones.

`make test` compares twelve of them, `make golden` all, with three seeds each (README.md).
"""

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest
from tests.golden.answering import answers
from tests.golden.reducing import differences, reduced
from tests.golden.spelling import FIELDS, IN_TEST, PARTS, RECORDED, SEEDS, SETTINGS, TODAY

HERE = Path(__file__).parent
MODE = os.environ.get("POLYCLINIC_GOLDEN", "test")  # "all" compares every row; "record" and "record-today" write them
RECORDS = MODE in ("record", "record-today")
ROWS = [(name, 1) for name in IN_TEST] if MODE == "test" else [(name, seed) for name in TODAY for seed in SEEDS]


def lines_of(name):
    if MODE != "record":
        return TODAY[name]
    lines = [*TODAY[name]]
    for today, before in SETTINGS.items():
        lines = [line.replace(today, before) for line in lines]
    return RECORDED.get(name, lines)


def results(run, serving, folder, name, seed):
    shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
    before = set(folder.rglob("*"))
    with serving(answers(seed)) as endpoint:
        filled = [line.replace("{seed}", str(seed)).replace("{url}", endpoint.url) for line in lines_of(name)]
        done = [run(*shlex.split(line), cwd=folder, code=None) for line in filled]
    for line, one in zip(filled, done, strict=True):
        assert one.returncode in (0, 1), f"{line}: {one.stderr}"
    printed = [json.loads(one.stdout) if one.stdout[:1] in ("{", "[") else None for one in done]
    if MODE == "record":
        return reduced(folder, before, printed, {})
    for number, part in PARTS.get(name, {}).items():
        printed[number] = printed[number][part]
    return reduced(folder, before, printed, FIELDS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), ROWS, ids=str)
def test_results_are_the_recorded_ones(run, serving, tmp_path, name, seed):
    found = results(run, serving, tmp_path, name, seed)
    file = HERE / "recorded" / f"{name}.{seed}.json"
    if RECORDS:
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
        return
    told = differences(json.loads(file.read_text("utf-8")), found)
    assert not told, f"{len(told)} results of {name} differ:\n" + "\n".join(told[:40])


@pytest.mark.skipif(RECORDS, reason="they are being written")
def test_every_recorded_row_is_there():
    recorded = {file.name for file in (HERE / "recorded").iterdir()}
    assert recorded == {f"{name}.{seed}.json" for name in TODAY for seed in SEEDS}
    assert len(TODAY) >= 40
    assert set(IN_TEST) <= TODAY.keys()
    assert RECORDED.keys() <= TODAY.keys()

"""Requests to an examiner beside labels: what is ordered and recorded is given, nothing else is, nothing is false."""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput, UnreadableReply
from polyclinic.evaluations.examiner.declaration import (
    RecordedRequest,
    RecordedRequests,
    RequestLabel,
    read_labels,
    read_requests_of,
    recorded_requests,
)
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import Request
from polyclinic.visits.visit import held_by_examiner

HERE = Path(__file__).parent
LABELLED = HERE.parents[1] / "cases" / "data" / "labelled"

CASE = Case(
    id="7",
    record=Record(
        presentation=Presentation(complaint="头晕", language="zh"),
        findings=(
            Finding(examination="头颅CT平扫", value="左侧基底节区低密度影"),
            Finding(examination="血常规", item="白细胞", value="11.2×10^9/L"),
            Finding(examination="血常规", item="血红蛋白", value="132g/L"),
            Finding(examination="随机血糖", value="9.8mmol/L"),
        ),
    ),
    truth=Truth(diagnoses=(Diagnosis(name="脑梗死"),)),
    source="test",
)
BY_ID = {"7": CASE}


def dialogue(*said, case=7):
    return json.dumps({"patient_id": case, "dialog_history": [{"role": r, "content": c} for r, c in said]})


def written(path, *lines):
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


ASKED = ("Patient", "<对检查员讲> 医生让我做头部CT和血糖。")
REPLY = ("Reporter", "- 头颅CT平扫: 左侧基底节区低密度影\n- 血糖: 无")


def test_requests_are_what_a_patient_says_to_the_examiner(tmp_path):
    lines = (
        dialogue(
            ("Doctor", "做个CT吧。"),
            ("Patient", "<对医生讲> 好的。<对检查员讲> 我要做头部CT。"),
            ("Reporter", "无"),
            ("Patient", "<To the examiner> A blood count, please."),
            ("Patient", "<检查员> 血常规未见异常"),
            ("Patient", "Then the sugar."),
            ("Reporter", "9.8"),
            ("Patient", "谢谢。<结束>"),
        ),
        dialogue(ASKED, case=8),
    )
    found = read_requests_of([written(tmp_path / "d.jsonl", *lines)], BY_ID)
    assert found.left_out == 1
    assert [one.text for one in found.requests] == ["我要做头部CT。", "A blood count, please.", "Then the sugar."]
    assert [one.reply for one in found.requests] == ["无", "", "9.8"]


async def hold(requests, *, labels=None, examiner="rules", cases=(CASE,), **minds):
    benchmark = recorded_requests(cases, RecordedRequests(tuple(requests), 0), labels=labels)
    return await benchmark.hold({"x": Minds(examiner=examiner, knowledge=read_knowledge(), seed=1, **minds)})


def asked(text, *examinations, also=(), reply=""):
    label = RequestLabel(case="7", request=text, examinations=examinations, also=tuple(also))
    return RecordedRequest(case="7", text=text, reply=reply), {("7", text): label}


def figures(result):
    return (result.requests, result.ordered, result.given, result.beyond, result.false_normal)


async def test_a_neighbouring_name_counts_as_given_and_whole_examinations_as_one():
    request, labels = asked("医生让我做头部CT、血糖和血常规。", "头颅CT平扫", "随机血糖", "血常规")
    assert figures(await hold([request], labels=labels)) == (1, 3, 3, 0, 0)


async def test_what_is_given_beyond_and_what_may_be_given_are_told_apart():
    request, labels = asked("血常规", "随机血糖")
    assert figures(await hold([request], labels=labels)) == (1, 1, 0, 1, 0)
    request, labels = asked("血常规", "白细胞")
    assert figures(await hold([request], labels=labels)) == (1, 1, 1, 0, 0)
    request, labels = asked("血常规", also=["血常规"])
    assert figures(await hold([request], labels=labels)) == (1, 0, 0, 0, 0)


async def test_what_is_recorded_and_told_as_normal_is_counted():
    def nothing(ask, role):
        return Request(items=(role.request(),))

    request, labels = asked("头颅MRI", "头颅CT平扫")  # A label by somebody who takes one for the other.
    result = await hold([request], labels=labels, examiner=nothing)
    assert figures(result) == (1, 1, 0, 0, 1)
    assert result.rows[0].told_as_normal == ("头颅MRI",)
    request, labels = asked("心电图", "头颅CT平扫")
    assert figures(await hold([request], labels=labels)) == (1, 1, 0, 0, 0)


async def test_without_labels_the_recorded_reply_says_what_is_ordered():
    request = RecordedRequest(case="7", text=ASKED[1], reply=REPLY[1])
    result = await hold([request])
    assert figures(result) == (1, 1, 1, 1, 0)
    assert (result.rows[0].ordered, result.rows[0].beyond) == (("头颅CT平扫",), ("随机血糖",))


async def test_a_request_that_fails_is_outside_and_one_without_a_label_is_not_put():
    def fails(ask, role):
        raise UnreadableReply("no")

    request, labels = asked("头部CT", "头颅CT平扫")
    other = RecordedRequest(case="7", text="血常规")
    result = await hold([request, other], labels=labels, examiner=fails)
    assert (result.requests, result.unlabelled, result.ordered, sum(result.failed.values())) == (0, 1, 0, 1)


async def test_a_labels_name_by_which_nothing_is_recorded_is_said_and_not_counted():
    request, labels = asked("头部CT", "头颅CT平扫", "脑电图")
    result = await hold([request], labels=labels)
    assert (result.ordered, result.rows[0].unknown) == (1, ("脑电图",))

    assert result.unknown == 1


async def test_what_the_history_tells_is_the_examiners_and_counts_where_a_label_names_it():
    history = History(present="Chest pain. The ECG on arrival showed ST elevation.")
    record = msgspec.structs.replace(CASE.record, history=history)
    case = msgspec.structs.replace(CASE, record=record)
    (moved,) = set(held_by_examiner(case).findings) - set(CASE.record.findings)
    request, labels = asked("An ECG, please.", moved.examination)
    assert figures(await hold([request], labels=labels, cases=(case,))) == (1, 1, 1, 0, 0)
    request, labels = asked("An ECG, please.")
    assert figures(await hold([request], labels=labels, cases=(case,))) == (1, 0, 0, 0, 0)


def test_a_turn_without_a_request_is_counted(tmp_path):
    line = dialogue(ASKED, ("Patient", "<对检查员讲> "), ("Reporter", "无"))
    found = read_requests_of([written(tmp_path / "d.jsonl", line)], BY_ID)
    assert (len(found.requests), found.empty) == (1, 1)


def test_a_label_may_keep_the_tag_of_its_request(tmp_path):
    request = RecordedRequest(case="7", text="头部CT")
    line = json.dumps({"case": "7", "request": "<对检查员讲> 头部CT", "examinations": []})
    assert ("7", "头部CT") in read_labels(written(tmp_path / "l.jsonl", line), [request], BY_ID)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([dialogue(("Doctor", "你好"), ("Patient", "<对医生讲> 头晕"))], "no request to an examiner stands in it"),
        ([dialogue(ASKED, case=9)], "none of its 1 dialogues is of a case in the case file (theirs begin with 9)"),
        (['{"patient_id": 7}'], "a dialogue has 'patient_id' and 'dialog_history'"),
        (["no JSON"], "begins with 'no JSON'"),
    ],
)
def test_bad_dialogues_are_said_in_one_line(tmp_path, lines, problem):
    with pytest.raises(BadInput) as caught:
        read_requests_of([written(tmp_path / "d.jsonl", *lines)], BY_ID)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ({"case": "9", "request": "x", "examinations": []}, "the case '9' is not in the case file"),
        ({"case": "7", "request": "别的", "examinations": []}, "no dialogue of the case 7 holds this request ('别的')"),
        ({"case": "7", "request": "头部CT"}, "a label has 'case', 'request' and 'examinations'"),
        ({"case": "7", "request": "头部CT", "examinations": "CT"}, "a label has 'case', 'request' and 'examinations'"),
    ],
)
def test_bad_labels_are_said_in_one_line(tmp_path, label, problem):
    request = RecordedRequest(case="7", text="头部CT")
    with pytest.raises(BadInput, match="line 1") as caught:
        read_labels(written(tmp_path / "l.jsonl", json.dumps(label)), [request], BY_ID)
    assert problem in str(caught.value)


def test_a_label_may_give_the_hash_of_its_request_and_may_not_stand_twice(tmp_path):
    request = RecordedRequest(case="7", text="头部CT")
    hashed = f"sha256:{hashlib.sha256('头部CT'.encode()).hexdigest()}"
    one = json.dumps({"case": 7, "request": hashed, "examinations": ["头颅CT平扫"], "layout": "ai_hospital"})
    labels = read_labels(written(tmp_path / "l.jsonl", one), [request], BY_ID)
    assert labels["7", "头部CT"].examinations == ("头颅CT平扫",)
    again = json.dumps({"case": "7", "request": "头部CT", "examinations": []})
    with pytest.raises(BadInput, match=r"line 2, request: this request .* labelled twice"):
        read_labels(written(tmp_path / "l.jsonl", one, again), [request], BY_ID)


# The bars.


def check_bars(result, *, requests):
    wrong = [row for row in result.rows if row.beyond or row.false_normal or len(row.given) < len(row.ordered)]
    assert result.requests == requests
    assert result.given >= 0.95 * result.ordered, wrong
    assert result.beyond <= 0.05 * (result.given + result.beyond), wrong
    assert result.false_normal == 0, wrong


def own_labels(layout):
    lines = (json.loads(line) for line in (HERE / "own_labels.jsonl").read_text("utf-8").splitlines())
    return [line for line in lines if line["layout"] == layout]


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["respiratory", "respiratory.zh", "agentclinic", "ai_hospital"])
async def test_orders_in_our_own_words_are_read(layout, request):
    shared = {"agentclinic": "agentclinic/agentclinic_medqa.jsonl", "ai_hospital": "ai_hospital/patients_small_10.json"}
    file = None if layout in shared else LABELLED / f"{layout}.jsonl"
    cases = list(read_cases(file or request.getfixturevalue("shared_data") / "cases" / shared[layout]))
    labels = {
        (one["case"], one["request"]): RequestLabel(
            case=one["case"],
            request=one["request"],
            examinations=tuple(one["examinations"]),
            also=tuple(one.get("also", ())),
        )
        for one in own_labels(layout)
    }
    requests = [RecordedRequest(case=case, text=text) for case, text in labels]
    check_bars(await hold(requests, labels=labels, cases=cases), requests=len(labels))


async def test_recorded_orders_are_read(shared_data):
    folder = shared_data / "cases" / "ai_hospital"
    cases = {case.id: case for case in read_cases(folder / "patients_small_10.json")}
    found = read_requests_of([folder / "dialog_history_gpt3_first150.jsonl"], cases)
    labels = read_labels(HERE / "recorded_labels.jsonl", found.requests, cases)
    assert found.left_out == 140
    check_bars(await hold(found.requests, labels=labels, cases=cases.values()), requests=12)

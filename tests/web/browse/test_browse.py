"""What the page of results is told: every holding down to a record, and nothing of elsewhere."""

import asyncio
import subprocess
import sys

import msgspec
import pytest
from tests.web.asking import asked

from polyclinic.errors import UserError
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.store import Store
from polyclinic.models.journal import Journal
from polyclinic.models.scripted import Scripted
from polyclinic.results.folder import ItemMeasure, ItemRow, RunRecord
from polyclinic.run.output import write_record
from polyclinic.web.application import application
from polyclinic.web.browse.documents import Documents
from polyclinic.web.browse.holdings import Holdings
from polyclinic.web.browse.site import export_site
from polyclinic.web.serving import Serving

PLANTED = "<script>alert(1)</script>\u202e\x07"
CALL = {"seq": 0, "round_trip": 1, "purpose": "vote 1, expert 1", "text": '{"vote": "no"}'}


def lines(*documents):
    return b"".join(msgspec.json.encode(one) + b"\n" for one in documents)


def visit(case, *said):
    opened = {"event": "opened", "seq": 0, "format": 1, "case": case, "presentation": {}, "minds": {"doctor": "rules"},
              "seed": 0, "max_turns": 3}  # fmt: skip
    told = [{"event": "said", "seq": n, "turn": n, "who": "patient", "to": "doctor", "text": text, "state": "A-A-A"}
            for n, text in enumerate(said, 1)]  # fmt: skip
    return [opened, *told]


async def journalled(path):
    """A dialogue of two calls, and a failure."""
    first = [("system", "Be brief."), ("user", PLANTED)]
    second = [*first, ("assistant", PLANTED), ("user", "And now?")]
    async with Journal(path, run="r") as journal:
        model = journal.wrap(Scripted([PLANTED, "so"]), episode="one q3", role="doctor")
        for messages in (first, second):
            await model.ask(messages, purpose="answer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An evaluation of two, its journal, a recording, something damaged, and a link out of it."""
    folder = tmp_path_factory.mktemp("kept")
    exam = folder / "deep" / "exam 1"
    exam.mkdir(parents=True)
    rows = [
        ItemRow(item=f"q{n}", set="medqa", model="m", method=who, values={"right": 100.0 * (n < good)},
                at=f"{who}.jsonl:{n + 1}")
        for who, good in (("one", 6), ("two", 1))
        for n in range(8)
    ]  # fmt: skip
    settings = {"base_url": "http://me:pass@host/v1?key=abc", "api_key": "sk-1"}
    record = RunRecord(kind="eval exam medqa", configuration=settings, measures=[ItemMeasure(name="right")])
    write_record(exam, record, rows)
    for who in ("one", "two"):
        outcomes = [{"id": f"q{n}", "key": ["A"], "right": True, "outcome": {"end": "answered", "trace": [CALL]}}
                    for n in range(8)]  # fmt: skip
        (exam / f"{who}.jsonl").write_bytes(lines(*outcomes))
    (folder / "visits.jsonl").write_bytes(
        lines(*visit("c1", "I cough.", "Fieber und HUSTEN, sehr"), *visit("c2", PLANTED))
    )
    (folder / "broken").mkdir()
    (folder / "broken" / "results.json").write_text("{", "utf-8")
    asyncio.run(journalled(folder / "a.journal"))
    secret = tmp_path_factory.mktemp("elsewhere")
    (secret / "secret.jsonl").write_bytes(lines(*visit("secret", "secret")))
    (folder / "out").symlink_to(secret)
    (folder / "practice").mkdir()
    (folder / "practice" / "played.jsonl").write_bytes(lines(*visit("secret", "secret")))
    return folder


@pytest.fixture(scope="module")
def documents(folder):
    return Documents(Holdings([folder], without=[folder / "practice"]))


def test_all_that_is_there_is_listed_and_nothing_else(documents):
    found = {one["id"]: one for one in documents("all")["holdings"]}
    assert set(found) == {"deep-exam-1", "visits.jsonl", "broken", "a.journal"}
    assert found["deep-exam-1"]["items"] == 16
    assert "JSON" in found["broken"]["problem"] and "/" not in found["broken"]["problem"]
    text = msgspec.json.encode([documents(key) for key in documents.every_key() if "broken" not in key])
    assert b"secret" not in text and b"pass@" not in text and b"sk-1" not in text and b"key=abc" not in text


def test_a_table_leads_to_an_item_its_record_and_its_calls(documents):
    about = documents("about/deep-exam-1")
    assert [row["measures"]["right"]["mean"] for row in about["table"]["rows"]] == [75, 12.5]
    (row,) = documents("compared/deep-exam-1")["rows"]
    assert row["difference"]["mean"] == -62.5
    n = next(row["n"] for row in documents("items/deep-exam-1/0")["rows"] if row["at"] == "one.jsonl:4")
    item = documents(f"item/deep-exam-1/{n}")
    assert item["record"] == {"file": 0, "line": 4} and len(item["same"]) == 1
    record = documents("record/deep-exam-1/0/4")
    assert record["record"]["id"] == "q3" and record["record"]["outcome"]["trace"] == [CALL]
    assert (record["before"], record["after"]) == (3, 5)
    (reply,) = item["replies"]
    assert documents(f"call/{reply['id']}/{reply['n']}")["replies"][0]["text"] == PLANTED


def test_what_was_said_is_listed_with_its_place(documents):
    pages = documents("said")["pages"]
    said = [(id, *one) for id, *at in pages for one in documents("/".join(map(str, ("words", id, *at))))["said"]]
    assert ("visits.jsonl", 1, 2, "patient", "Fieber und HUSTEN, sehr") in said
    assert any("vote" in one[-1] for one in said) and not any("secret" in one[-1] for one in said)


def test_what_is_not_there_is_told_in_one_line(documents):
    bad = ("", "nothing", "about", "about/none", "about/../../etc", "item/deep-exam-1/99", "item/deep-exam-1/-1",
           "record/visits.jsonl/0/2", "record/visits.jsonl/7/1", "list/deep-exam-1/0", "call/a.journal/9",
           "items/visits.jsonl/0", "about/broken", "item/deep-exam-1/" + "9" * 40, "all/x/1/2/3")  # fmt: skip
    wrong = []
    for key in bad:
        try:
            documents(key)
            wrong.append(key)
        except UserError as error:
            assert "\n" not in str(error) and "/tmp" not in str(error)
    assert wrong == []


async def test_the_page_asks_over_the_guard(folder):
    serving = Serving([folder])
    pages = application(serving)
    answer = await asked(pages, "/api/browse/of/record/visits.jsonl/0/4")
    assert answer.status == 200 and answer.document["record"]["events"][1]["text"] == PLANTED
    assert answer.headers["content-type"] == "application/json"
    assert (await asked(pages, "/api/browse/of/about/none")).status == 404
    assert (await asked(pages, "/browse")).status == 200
    serving.close()


def test_a_copy_has_every_document_as_a_script_and_nothing_secret(documents, tmp_path):
    came = export_site(documents, tmp_path / "site")
    written = {path.relative_to(tmp_path / "site" / "data").as_posix(): path.read_text("utf-8")
               for path in (tmp_path / "site" / "data").rglob("*.js")}  # fmt: skip
    assert came.documents == len(written) and len(came.left_out) == 1 and came.left_out[0].startswith("about/broken")
    text = written["record/visits.jsonl/0/4.js"]
    key, document = msgspec.json.decode("[" + text.removeprefix("polyclinicTells(").removesuffix(");\n") + "]")
    assert key == "record/visits.jsonl/0/4" and document == documents(key)
    assert "HUSTEN" in written["words/visits.jsonl/0/0.js"] and {"said.js", "together.js", "all.js"} <= set(written)
    assert not any(word in "".join(written.values()) for word in ("sk-1", "pass@", str(tmp_path.parent)))
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "polyclinic-copy" in page and "script-src 'self'" in page and "module" not in page
    assert "truth" in (tmp_path / "site" / "README.txt").read_text("utf-8")


@pytest.mark.slow
def test_a_copy_needs_no_server():
    without = "import sys; sys.modules.update(starlette=None, uvicorn=None); import polyclinic.web.browse.site"
    subprocess.run([sys.executable, "-c", without], check=True)


def test_a_copy_is_written_over_nothing(documents, tmp_path):
    (tmp_path / "mine").write_text("kept", "utf-8")
    with pytest.raises(UserError, match="not empty"):
        export_site(documents, tmp_path)
    with pytest.raises(UserError, match="nothing to copy"):
        export_site(Documents(Holdings([tmp_path])), tmp_path / "site")


def test_runs_and_learning_are_shown_with_their_own(runs, tmp_path):
    found = Documents(Holdings([runs]))
    assert {one["id"]: one["holds"] for one in found("all")["holdings"]} == {
        "one": "hospital", "deep-two": "hospital", "broken": "hospital"}  # fmt: skip
    assert found("about/one")["visits"] == 0 and found("list/one/0/0")["rows"] == []
    with pytest.raises(UserError):
        found("about/broken")
    curve = [{"patients": n, "examination": 50.0, "diagnosis": 100.0, "treatment": 0.0} for n in (0, 100)]
    learnt = {"doctor": "recall", "curve": curve, "by_disease": {"influenza-a": {"n": 20}}}
    (tmp_path / "summary.json").write_bytes(msgspec.json.encode(learnt))
    (tmp_path / "evolve.json").write_text("{}", "utf-8")
    (id,) = Holdings([tmp_path]).look()
    about = Documents(Holdings([tmp_path]))(f"about/{id}")
    low, high = about["learning"]["curve"][1]["intervals"]["examination"]
    assert about["holds"] == "learning" and about["tests"] == 20 and 29 < low < 31 and 69 < high < 71


def test_a_call_is_told_with_what_was_asked_each_message_once(documents):
    told = documents("call/a.journal/0")
    first, second = told["replies"]
    assert (first["asked"]["role"], first["asked"]["model"], first["text"]) == ("doctor", "scripted", PLANTED)
    assert second["asked"]["messages"][:2] == first["asked"]["messages"] and second["text"] == "so"
    assert [told["messages"][id] for id in second["asked"]["messages"]] == [
        ("system", "Be brief."), ("user", PLANTED), ("assistant", PLANTED), ("user", "And now?")]  # fmt: skip
    assert len(told["messages"]) == 4 and "problem" not in first


async def test_a_visit_on_the_map_leads_to_its_calls(tmp_path):
    """From what the map calls a visit to its record, and from there to what was asked."""
    episode = Episode(
        key="r00001-d0000/1", department="respiratory", seen=(ConsultationHeld(department="respiratory", turns=1),)
    )
    with Store.create(tmp_path / "run", {"setup": {"doctor": "direct/m", "nurse": "rules"}}) as store:
        store.keep(episode)
        store.flush()
    async with Journal(tmp_path / "run" / "calls.sqlite", run="r") as journal:
        model = journal.wrap(Scripted(["hm"]), episode="direct/m r00001-d0000/1/respiratory", role="doctor")
        await model.ask("And?")
        await journal.wrap(Scripted(["no"]), episode="direct/m r00001-d0000/11").ask("No?")
    serving = Serving([tmp_path])
    pages = application(serving)
    key = (await asked(pages, "/api/browse/visit?run=run&visit=r00001-d0000/1")).document["key"]
    (reply,) = (await asked(pages, f"/api/browse/of/{key}")).document["replies"]
    told = (await asked(pages, f"/api/browse/of/call/{reply['id']}/{reply['n']}")).document
    assert list(told["messages"].values()) == [["user", "And?"]] and told["replies"][0]["text"] == "hm"
    for wrong in ("run=run&visit=nobody", "run=other&visit=r00001-d0000/1"):
        assert (await asked(pages, f"/api/browse/visit?{wrong}")).status == 404
    serving.close()

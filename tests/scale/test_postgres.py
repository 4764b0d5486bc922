"""What several machines share, in a file and in a PostgreSQL server of the test's own: the same comes of both."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from bench.postgres import PASSWORD, PostgresProcess, postgres_programs

from polyclinic.memory.entries import AskedTask, MedicalRecord
from polyclinic.memory.memory import About, Note, open_memory
from polyclinic.results.folder import read_results
from polyclinic.seals import seal
from polyclinic.storage.memory import point
from polyclinic.storage.results import check_store
from polyclinic.storage.server import StoreServer, read_address
from polyclinic.testing.endpoint import EndpointProcess

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'polyclinic[postgres]'")
pytestmark = pytest.mark.skipif(postgres_programs() is None, reason="no PostgreSQL: pip install pgserver, or Debian's")

_COMMAND = [sys.executable, "-m", "polyclinic"]


def rows(place, number=-1):
    """Returns the items of a folder, or of the last results of a database, or of another by its number."""
    found = read_results(str(place))[number].rows
    return [{**msgspec.to_builtins(row), "seconds": 0} for row in found]


def untimed(shown):
    return re.sub(r"\d+\.\d+", "…", shown)


def exam(endpoint, *more):
    return ["eval", "exam", "medqa", "shipped", "--model", "direct/x", "--base-url", endpoint.url, *more]


def requests(endpoint):
    return endpoint.counters()["requests"]


def test_a_second_command_asks_nothing_and_has_the_same(kept, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        run(*exam(endpoint, *kept))
        asked, first = requests(endpoint), rows(kept[1])
        run(*exam(endpoint, *kept))
        assert requests(endpoint) == asked > 2
    assert rows(kept[1]) == first


def test_both_keep_the_same(base, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        run(*exam(endpoint, "--out", tmp_path / "file"))
        run(*exam(endpoint, "--out", base))
    assert rows(tmp_path / "file") == rows(base)


def test_after_a_kill_what_was_answered_is_not_asked_again(kept, run, tmp_path):
    places = 2
    more = [*kept, "--concurrency", str(places), "--method", "self_consistency"]
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        words = [*_COMMAND, *map(str, exam(endpoint, *more))]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while requests(endpoint) < 15:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = requests(endpoint)
        run(*exam(endpoint, *more))
        again = requests(endpoint)
    with EndpointProcess(seed=1) as endpoint:
        run(*exam(endpoint, "--method", "self_consistency", "--out", tmp_path / "whole"))
        whole = requests(endpoint)
    assert before < whole
    assert again - whole <= places
    assert rows(kept[1]) == rows(tmp_path / "whole")


def test_two_commands_at_once_share_one_store(base, tmp_path):
    with EndpointProcess(seed=1, latency=0.05) as endpoint:
        words = [
            *_COMMAND,
            *map(str, exam(endpoint, "--out", base, "--concurrency", "2", "--method", "self_consistency")),
        ]
        both = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [process.wait(timeout=120) for process in both] == [0, 0]
    one, two = ([row["values"] for row in rows(base, number)] for number in (0, 1))
    assert one == two


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_goes_away_in_the_middle_loses_nothing(how, run, tmp_path):
    with PostgresProcess(durable=True) as server, EndpointProcess(seed=1, latency=0.05) as endpoint:
        more = ["--out", server.url, "--concurrency", "2", "--method", "self_consistency"]
        words = [*_COMMAND, *map(str, exam(endpoint, *more))]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        while requests(endpoint) < 15:
            time.sleep(0.02)
        server.stop(how)
        time.sleep(0.5)
        server.start()
        assert process.wait(timeout=120) == 0
        asked = requests(endpoint)
        run(*exam(endpoint, *more))
        assert requests(endpoint) == asked
        assert rows(server.url, 0) == rows(server.url, 1)


def test_a_part_that_begins_while_the_server_is_away_waits_for_it(run, tmp_path):
    with PostgresProcess(durable=True) as server, EndpointProcess(seed=1, latency=0.05) as endpoint:
        more = ["--out", server.url, "--concurrency", "2", "--method", "self_consistency", "--on", "local:2"]
        words = [*_COMMAND, *map(str, exam(endpoint, *more))]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while requests(endpoint) < 15:
            time.sleep(0.02)
        server.stop("immediate")
        of_threads = Path(f"/proc/{process.pid}/task").glob("*/children")
        children = [child for one in of_threads for child in one.read_text().split()]
        parts = [one for one in children if b"parallel.worker" in Path(f"/proc/{one}/cmdline").read_bytes()]
        os.kill(int(parts[0]), signal.SIGKILL)
        time.sleep(5)  # another begins its part meanwhile
        server.start()
        said = process.communicate(timeout=120)[1]
        # What writes answers says it once, and so does what reads them.
        assert process.returncode == 0 and said.count("is away; trying again for") in {1, 2}, said
        asked = requests(endpoint)
        run(*exam(endpoint, *more))
        assert requests(endpoint) == asked
        assert rows(server.url, 0) == rows(server.url, 1)


def test_bad_input_is_one_line_without_the_password(server, base, run, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with psycopg.connect(base, autocommit=True) as connection:
        connection.execute("CREATE ROLE poor LOGIN PASSWORD 'pauper'")
        connection.execute("CREATE SCHEMA later; CREATE TABLE later.store (name text, value text)")
        connection.execute("INSERT INTO later.store VALUES ('format', '99')")
        connection.execute("CREATE SCHEMA theirs; CREATE TABLE theirs.calls (name text)")
    database = base.rpartition("/")[2]
    for url, needed in {
        server.url_with("wrong-one"): "authentication failed",
        server.url_with(PASSWORD, database="nowhere"): 'database "nowhere" does not exist',
        f"postgresql://u:wrong-one@127.0.0.1:1/{database}": "onnection refused",
        "postgresql://u:wrong-one@127.0.0.1:port/d": "needs the address",
        "mysql://u:wrong-one@host/d": "needs the address of a database",
        server.url_with("pauper", user="poor", database=database): "may not make or use the schema polyclinic",
        f"{base}?schema=later": "a store in format 99",
        f"{base}?schema=theirs": "the schema theirs there holds tables of somebody else",
    }.items():
        came = run("eval", "exam", "medqa", "shipped", "--model", "made-up", "--out", url, code=2)
        line = came.stderr.strip()
        assert needed in line and "\n" not in line, url
        assert not [secret for secret in ("wrong-one", "pauper", PASSWORD) if secret in line], url


def test_who_may_not_keep_what_comes_asks_nobody(server, base, run):
    database = base.rpartition("/")[2]
    with EndpointProcess(seed=1) as endpoint:
        run(*exam(endpoint, "--out", base))
        asked = requests(endpoint)
        with psycopg.connect(base, autocommit=True) as connection:
            connection.execute("CREATE ROLE looker LOGIN PASSWORD 'looks'")
            connection.execute("GRANT USAGE ON SCHEMA polyclinic TO looker")
            connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA polyclinic TO looker")
            url = server.url_with("looks", user="looker", database=database)
            came = run(*exam(endpoint, "--seed", "1", "--out", url), code=2)
            assert (
                "looker may not write to calls, entries, files" in came.stderr and "GRANT SELECT, INSERT" in came.stderr
            )
            connection.execute("ALTER ROLE looker SET default_transaction_read_only = on")
            came = run(*exam(endpoint, "--seed", "1", "--out", url), code=2)
            assert "nothing can be kept there: it is a copy, or looker may only read" in came.stderr
            connection.execute("ALTER ROLE looker RESET default_transaction_read_only")
            connection.execute("GRANT INSERT ON polyclinic.calls, polyclinic.messages, polyclinic.prompts TO looker")
            came = run(*exam(endpoint, "--seed", "1", "--out", url), code=2)
            assert "looker may not write to entries, files" in came.stderr
            assert requests(endpoint) == asked
            assert "eval exam" in run("results", "show", url, "--rows", "runs").stdout
            connection.execute("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA polyclinic TO looker")
        run(*exam(endpoint, "--seed", "1", "--out", url))


def test_what_the_page_says_looks_into_a_store_and_makes_room(base, run):
    page = Path("docs/store.md").read_text("utf-8")
    place, sizes, runs, *deletes = [one.strip() for one in page.partition("```sql")[2].partition("```")[0].split(";\n")]
    with EndpointProcess(seed=1) as endpoint, psycopg.connect(base, autocommit=True) as connection:
        for seed in (0, 1):
            run(*exam(endpoint, "--seed", seed, "--out", base))
        connection.execute(place)
        assert [row[1] for row in connection.execute(sizes)] == ["eval exam", "eval exam"]
        (name, answers, _), (other, _, _) = connection.execute(runs)
        assert answers == requests(endpoint) / 2 and name != other
        for statement in deletes:
            connection.execute(statement.replace("(17, 18)", "(1)").replace("seed=0 medqa FILE", name))
        assert [row[0] for row in connection.execute(sizes)] == [2]
        assert [row[0] for row in connection.execute(runs)] == [other]
        (left,) = connection.execute("SELECT count(*) FROM polyclinic.prompts").fetchone()
        assert left == answers
        asked = requests(endpoint)
        run(*exam(endpoint, "--seed", 1, "--out", base))
        assert requests(endpoint) == asked
        run(*exam(endpoint, "--seed", 0, "--out", base))
        assert requests(endpoint) == asked + answers


def test_texts_that_postgresql_refuses(base, run, tmp_path):
    questions = tmp_path / "q.jsonl"
    one = {"question": "Is a \u0000 cough a symptom?", "options": {"A": "yes", "B": "no"}, "answer_idx": "A"}
    questions.write_text(json.dumps({**one, "id": "a\u0000b"}) + "\n")
    fields = "id=id,question=question,options=options,answer=answer_idx"
    with EndpointProcess(seed=1) as endpoint:
        for _ in range(2):
            run("eval", "exam", "any", questions, "--fields", fields, "--model", "direct/x", "--base-url",
                endpoint.url, "--out", base)  # fmt: skip
        assert requests(endpoint) == 1
    assert rows(base, 0) == rows(base, 1)


def test_no_password_is_kept(base, run, tmp_path):
    run("eval", "exam", "medqa", "shipped", "--model", "made-up", "--out", base)
    run("results", "show", f"{base}#1", "--format", "folder", "--out", tmp_path / "out")
    held = b"".join(path.read_bytes() for path in (tmp_path / "out" / "1").iterdir())
    assert b"postgresql://127.0.0.1" in held
    assert PASSWORD.encode() not in held and base.encode() not in held


def test_results_are_read_from_a_store_as_from_a_folder(base, run, tmp_path):
    out, fetched = tmp_path / "of", tmp_path / "fetched"
    out.mkdir()
    with EndpointProcess(seed=1) as endpoint:
        for number, method in enumerate(("zero_shot", "self_consistency"), 1):
            run(*exam(endpoint, "--method", method, "--out", base))
            run(*exam(endpoint, "--method", method, "--out", out / str(number)))
    for words in (["show", "--rows", "items"], ["compare"]):
        told = run("results", *words, out).stdout
        for number in (1, 2):
            told = told.replace(f"{out}/{number}", f"#{number}")
        assert untimed(run("results", *words, base).stdout) == untimed(told), words
    listed = json.loads(run("results", "show", base, "--rows", "runs", "--json").stdout)
    assert [one["folder"] for one in listed] == ["#1", "#2"]
    assert json.loads(run("results", "show", f"{base}#2", "--json").stdout)["record"]["kind"] == "eval exam"
    run("results", "show", f"{base}#1", "--format", "folder", "--out", fetched)
    was, came = ({path.name for path in (where / "1").iterdir() if path.is_file()} for where in (out, fetched))
    assert was == came
    with psycopg.connect(base) as connection:
        (n,) = connection.execute("SELECT count(*) FROM polyclinic.items WHERE item->>'item' <> ''").fetchone()
    assert n == sum(one["items"] for one in listed)
    refused = {"#9": "no results #9; there are, the last ones: #1, #2", "#x": "are named by their numbers"}
    for where, said in refused.items():
        assert said in run("results", "show", f"{base}{where}", "--rows", "runs", code=2).stderr
    assert len(json.loads(run("results", "show", base, "--json").stdout)["records"]) == 2


def test_what_was_stopped_gives_way_to_the_whole(base, run):
    with EndpointProcess(seed=1) as endpoint:
        more = ["--method", "self_consistency", "--out", base]
        run(*exam(endpoint, *more, "--token-budget", "1500", "--concurrency", "1"), code=1)
        (part,) = json.loads(run("results", "show", base, "--rows", "runs", "--json").stdout)
        assert part["stopped"]
        run(*exam(endpoint, *more))
        (whole,) = json.loads(run("results", "show", base, "--rows", "runs", "--json").stdout)
    assert not whole["stopped"] and whole["items"] >= part["items"]


def test_parts_of_a_command_share_a_store(base, run, tmp_path):
    with EndpointProcess(seed=1) as endpoint:
        run(*exam(endpoint, "--out", tmp_path / "whole"))
        asked = requests(endpoint)
        run(*exam(endpoint, "--out", base, "--on", "local:2"))
        assert requests(endpoint) == 2 * asked
    assert rows(tmp_path / "whole") == rows(base)


def test_of_many_that_make_a_store_one_makes_it(base):
    address, errors = read_address(base), []

    def open_store():
        server = StoreServer(address)
        try:
            together.wait()
            server.open(make=True)
        except Exception as error:
            errors.append(error)
        finally:
            server.close()

    together = threading.Barrier(8)
    threads = [threading.Thread(target=open_store) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def entries(run, folder, out):
    run("memory", "show", folder, "--out", out)
    return out.read_text()


def test_a_memory_in_a_store_is_that_of_a_file(server, base, run, tmp_path):
    run = partial(run, env={"PGPASSWORD": PASSWORD})
    url = server.url_with("", database=base.rpartition("/")[2])
    files = train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    for seed, (file, n) in enumerate(zip(files, (48, 16), strict=True)):
        run("cases", "generate", "--diseases", "respiratory", "--n", n, "--seed", seed, "--out", file)
    practice = ["evolve", "--train", train, "--test", test, "--set", "practice.test-every=24"]
    shown = {}
    for name, where in {"file": tmp_path / "file", "store": f"{url}#store"}.items():
        shown[name] = json.loads(run(*practice, "--out", where, "--json").stdout)
        shown[name].pop("wall_seconds", None)
    assert shown["file"] == shown["store"]
    for at in ("@24", ""):
        filed = entries(run, f"{tmp_path / 'file'}{at}", tmp_path / f"file{at}.out")
        stored = entries(run, f"{url}#1{at}", tmp_path / f"store{at}.out")
        assert filed == stored != "", at
    again = json.loads(run(*practice, "--out", f"{url}#store", "--json").stdout)
    assert again["curve"] == shown["store"]["curve"]


def test_a_memory_that_an_earlier_version_kept_in_tables_is_copied(base, run, tmp_path):
    check_store(read_address(base))
    about = About(embedder="e", dimensions=2, knowledge="k")
    vector = np.array([0.6, 0.8], "<f4").tobytes()
    with psycopg.connect(base, autocommit=True) as connection:
        made_with = msgspec.json.encode(about)
        connection.execute("INSERT INTO polyclinic.memories (name, about) VALUES ('m', %b)", (made_with,))
        for number in (1, 2):
            asked = AskedTask(case=f"c{number}", number=number, query="q", options=("a",))
            entry = msgspec.msgpack.encode(MedicalRecord(asked=asked, answer="a\x00"))
            sealed = seal(b"record diagnosis %d " % len(entry) + entry + vector)
            row = (number - 1, "record", "diagnosis", entry, vector, sealed)
            connection.execute("INSERT INTO polyclinic.entries VALUES ('m', %s, %s, %s, %b, %b, %b)", row)
        connection.execute("INSERT INTO polyclinic.practice VALUES ('m', 2, 'tested', %b)", (b"1",))
        (tmp_path / "old").mkdir()
        point(tmp_path / "old", base, "m")
        run("memory", "build", f"{base}#m", "--out", tmp_path / "copy")
        for folder in (tmp_path / "old", tmp_path / "copy"):
            with open_memory(folder, about) as memory:
                assert [entry.asked.number for _, entry, _ in memory.news()] == [1, 2]
                assert memory.notes() == [Note(2, "tested", b"1")]
            assert not (folder / "memory.store").exists()
        refused = run("memory", "build", f"{base}#none", "--out", tmp_path / "n", code=2).stderr
        assert "no memory 'none'; there are: m" in refused
        connection.execute("UPDATE polyclinic.entries SET vector = vector || vector WHERE n = 1")
    assert "damaged" in run("memory", "build", f"{base}#m", "--out", tmp_path / "other", code=2).stderr

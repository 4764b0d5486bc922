"""The journal: nothing is asked for twice, whatever happens and in whatever order."""

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from polyclinic.errors import BadInput, CutOff, Refused, UnreadableReply
from polyclinic.models.journal import Journal
from polyclinic.models.pipeline import Repeating, with_hooks
from polyclinic.models.scripted import Scripted
from polyclinic.testing.endpoint import Endpoint


class Counting:
    """Answers with the number of the request, after a pause of its own for each."""

    name = "counting"

    def __init__(self, seed=0):
        self.rng, self.asked = random.Random(seed), 0

    async def ask(self, messages, **options):
        self.asked += 1
        number = self.asked
        for _ in range(self.rng.randrange(20)):
            await asyncio.sleep(0)
        return await Scripted([f"{messages} {number}"]).ask(messages, **options)


async def test_a_second_run_asks_nothing(tmp_path, echo):
    kind, _ = echo
    answers = {"one": "1", "two": {"number": 2, "word": "w2"}, "three": "no"}
    runs = []
    for script in (answers, {}):
        async with Journal(tmp_path / "j", run="r") as journal:
            model = journal.wrap(Scripted(script), episode="e")
            replies = [
                await model.ask("one", temperature=0.5),
                await model.ask("two", answer=kind),
                await model.ask("three", answer=("yes", "no")),
            ]
            runs.append((replies, journal.stored, journal.answered))
    assert [replace(reply, replayed=True) for reply in runs[0][0]] == runs[1][0]
    assert [counts for _, *counts in runs] == [[3, 0], [0, 3]]


class Turn(msgspec.Struct):
    a: int
    b: Literal["x", "y"]


async def test_a_question_has_the_key_that_it_always_had(tmp_path):
    """What was stored by any earlier version is found again."""
    asked = [
        ("98ee429ba310ef76c269cad721715596", {}),
        ("786b5a90ffe7c066ae02b4448cfacbd0", {"answer": ("yes", "no")}),
        ("890e891b24b19916586ef84262c13c52", {"answer": Turn, "temperature": 0.5, "seed": 3, "purpose": "p"}),
        ("eca94022395c8083e2636d8b25b8423f", {"top_p": 0.5, "max_tokens": 9, "reasoning": "low", "seed": None}),
    ]
    async with Journal(tmp_path / "j") as journal:
        model = journal.wrap(Scripted(["one", "no", {"a": 1, "b": "x"}, "four"]))
        for _, options in asked:
            await model.ask([("system", "s"), ("user", "u")], **options)
    rows = sqlite3.connect(tmp_path / "j").execute("SELECT hex(request) FROM calls")
    assert {row[0].lower() for row in rows} == {key for key, _ in asked}


async def test_the_same_question_elsewhere_is_another_question(tmp_path):
    inner = Counting()
    for again in (False, True):
        async with Journal(tmp_path / "j", run="r") as journal, Journal(tmp_path / "j", run="s") as other:
            model = journal.wrap(inner, episode="e")
            replies = [
                await model.ask("x"),
                await model.ask("x"),
                await model.ask("x", purpose="p"),
                await model.ask("x", seed=1),
                await model.ask("x", temperature=1.0),
                await model.ask("x", answer=("x 6", "y")),
                await model.ask("x", answer=("x 7", "z")),
                await model.ask([("user", "x")]),
                await journal.wrap(inner, episode="f").ask("x"),
                await other.wrap(inner, episode="e").ask("x"),
            ]
            assert [reply.text.split()[-1] for reply in replies] == [str(n) for n in range(1, 11)]
        assert inner.asked == 10, again


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 1000), cut=st.integers(0, 60))
async def test_the_order_of_completion_does_not_matter(tmp_path_factory, seed, cut):
    """Equal and unequal questions at the same time, stopped anywhere: the k-th stays the k-th."""
    path = tmp_path_factory.mktemp("journal") / "j"
    questions = [f"q{random.Random(seed).randrange(9)}" for _ in range(30)] + ["same"] * 30

    async def run(model, journal, stop):
        wrapped = journal.wrap(model, episode="e")
        done = []

        async def one(number, question):
            reply = await wrapped.ask(question)
            done.append(number)
            if len(done) == stop:
                raise KeyError("stopped on purpose")
            return reply.text

        return await asyncio.gather(*(one(n, q) for n, q in enumerate(questions)))

    first = Counting(seed)
    async with Journal(path) as journal:
        try:
            await run(first, journal, cut)
        except KeyError:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0)
    stored = dict(_rows(path))
    second = Counting(seed + 1)
    async with Journal(path) as journal:
        texts = await run(second, journal, None)
        assert (journal.answered, second.asked) == (len(stored), len(questions) - len(stored))
    async with Journal(path) as journal:
        assert await run(Scripted([], name="counting"), journal, None) == texts
    assert stored.items() <= dict(_rows(path)).items()


def _rows(path):
    connection = sqlite3.connect(path)
    try:
        return [((row[0], row[1]), row[2]) for row in connection.execute("SELECT request, k, reply FROM calls")]
    finally:
        connection.close()


@pytest.mark.parametrize(
    "failure", [UnreadableReply("not so", text="so"), CutOff("cut", text="sh"), Refused("no", text="")], ids=type
)
async def test_a_models_failure_is_stored_and_met_again(failure, tmp_path):
    for script in ([failure], []):
        async with Journal(tmp_path / "j") as journal:
            with pytest.raises(type(failure)) as caught:
                await journal.wrap(Scripted(script)).ask("x")
            assert type(caught.value) is type(failure)
            assert (caught.value.problem, caught.value.text) == (failure.problem, failure.text)


async def test_an_endpoints_failure_is_asked_for_again(tmp_path, opened):
    async with Endpoint(plan=["503"]) as endpoint, Journal(tmp_path / "j") as journal:
        async with opened(endpoint.url, attempts=1) as model:
            with pytest.raises(Exception, match="503"):
                await journal.wrap(model).ask("x")
        assert journal.stored == 0


async def test_an_answer_is_in_the_file_before_it_is_used(tmp_path):
    async with Journal(tmp_path / "j") as journal:
        model = journal.wrap(Scripted(lambda said: f"to {said[0][1]}"))

        async def one(number):
            reply = await model.ask(f"q{number}")
            assert any(f'"{reply.text}"'.encode() in row[1] for row in _rows(tmp_path / "j"))

        await asyncio.gather(*(one(number) for number in range(50)))


async def test_one_who_is_cancelled_takes_nobody_along(tmp_path):
    async with Journal(tmp_path / "j") as journal:
        model = journal.wrap(Scripted(lambda said: "ok"))
        tasks = [asyncio.create_task(model.ask(f"q{number}")) for number in range(20)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(result, asyncio.CancelledError) for result in results) == 1


async def test_files_that_are_no_journal(tmp_path):
    (tmp_path / "text").write_text("hello " * 200)
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE patients (name TEXT)")
    other.close()
    for name, problem in (
        ("text", "not a database"),
        ("other", "no journal"),
        ("", "a directory"),
        ("no/j", "no folder"),
    ):
        with pytest.raises(BadInput, match=problem):
            async with Journal(tmp_path / name):
                pass


async def test_two_runs_on_one_journal_are_told_apart(tmp_path):
    async with Journal(tmp_path / "j") as one, Journal(tmp_path / "j") as two:
        await one.wrap(Scripted(["a"])).ask("x")
        with pytest.raises(BadInput, match="another process writes"):
            await two.wrap(Scripted(["b"])).ask("x")


async def test_a_full_disk_is_an_error_and_no_hang(tmp_path):
    async with Journal(tmp_path / "j") as journal:
        await journal.wrap(Scripted(["a"])).ask("first")
        journal._own._writer._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(BadInput, match=r"cannot be written .*full"):
            for number in range(100):
                await journal.wrap(Scripted(["long " * 1000])).ask(f"x{number}")


async def test_episodes_that_ended_are_let_go(tmp_path):
    async with Journal(tmp_path / "j") as journal:
        for number in range(10):
            await journal.wrap(Scripted(["a"]), episode=f"e{number}").ask("x")
            journal.forget(f"e{number}")
        assert not journal._seen


CLIENT = """
import asyncio, sys
from polyclinic.models.direct import Direct
from polyclinic.models.journal import Journal

async def main(url, path, asks, limit):
    async with Direct("test", base_url=url, concurrency=limit) as model, Journal(path, run="r") as journal:
        async def one(n):
            reply = await journal.wrap(model, episode=f"e{n % 50}").ask(f"number {n // 2}")
            assert reply.text == f"You said: number {n // 2}", reply
        await asyncio.gather(*(one(n) for n in range(asks)))
        print(journal.stored, journal.answered)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


@pytest.mark.slow
async def test_a_killed_run_goes_on_where_it_was(tmp_path, seed=1):
    """kill -9 at a random moment of 400 concurrent asks; the next run asks for the rest only."""
    asks, limit = 400, 64
    goal = random.Random(seed).randrange(50, 350)
    path = tmp_path / "j"
    # The spread makes answers come in another order in each run.
    async with Endpoint(latency=0.01, spread=0.8, seed=seed) as endpoint:
        command = [sys.executable, "-c", CLIENT, endpoint.url, str(path), str(asks), str(limit)]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        async with asyncio.timeout(60):
            await endpoint.until(answered=goal)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        assert process.returncode == -signal.SIGKILL
        stored, before = len(_rows(path)), endpoint.requests
        assert 0 < stored < asks
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        out, _ = await process.communicate()
        assert process.returncode == 0
        assert out.split() == [str(asks - stored).encode(), str(stored).encode()]
        assert endpoint.requests - before == asks - stored
        assert endpoint.requests <= asks + limit


class At(Counting):
    def __init__(self, address):
        super().__init__()
        self.address = address


async def test_another_endpoint_does_not_answer_from_this_ones_answers(tmp_path):
    here, there = At("http://a/v1"), At("http://b/v1")
    async with Journal(tmp_path / "j") as journal:
        await journal.wrap(here).ask("x")
    async with Journal(tmp_path / "j") as journal:
        await journal.wrap(there).ask("x")
        await journal.wrap(here, episode="").ask("y")
    async with Journal(tmp_path / "j") as journal:
        assert (await journal.wrap(with_hooks(here, Repeating())).ask("x")).replayed
    assert (here.asked, there.asked) == (2, 1)


async def test_a_journal_of_another_format_or_with_damage_is_refused_by_name(tmp_path):
    async with Journal(tmp_path / "j") as journal:
        await journal.wrap(Counting()).ask("x")
    file = sqlite3.connect(tmp_path / "j")
    with file:
        file.execute("UPDATE calls SET reply = cast(x'7bff' AS blob)")
    async with Journal(tmp_path / "j") as journal:
        with pytest.raises(BadInput, match="an answer of episode '' is damaged"):
            await journal.wrap(Counting()).ask("x")
    file.execute("PRAGMA user_version = 1")
    file.close()
    with pytest.raises(BadInput, match="a journal in format 1"):
        async with Journal(tmp_path / "j"):
            pass


async def test_where_two_are_answered_at_once_the_first_holds(tmp_path):
    async with Journal(tmp_path / "theirs") as theirs, Journal(tmp_path / "ours") as ours:
        kept = []

        async def keep(rows):
            kept.append(rows[-1][1][-1])

        theirs._own.put = keep
        await theirs.wrap(Scripted(["first"]), episode="e").ask("x")

        async def stood(rows):
            return kept[0]

        ours._own.put = stood
        reply = await ours.wrap(Scripted(["second"]), episode="e").ask("x")
        assert (reply.text, reply.value, reply.replayed) == ("first", "first", False)

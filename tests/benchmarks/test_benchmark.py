"""What every evaluation does: items put to players, scored, and summed up; and what a user gets of it."""

import json

import pytest

from polyclinic.errors import BudgetSpent, StoppedEarly
from polyclinic.evaluations.evaluation import Plays
from polyclinic.models.ledger import Ledger
from polyclinic.models.settings import ModelSettings
from polyclinic.run.invocation import NOT_INVOKED
from polyclinic.run.output import Output, file_names, write_results


def adding(fails=None):
    """An evaluation that adds a player's number to each item; the summary shows everything it was given."""

    async def play(item, player):
        if item == fails:
            raise BudgetSpent("enough")
        return item + player

    async def score(item, player, played):
        return played - item == player

    async def summarise(plays):
        return {name: [(p.item, p.player, p.played, p.scored) for p in theirs] for name, theirs in plays.items()}

    return Plays(items=[1, 2], play=play, score=score, summarise=summarise)


async def test_every_item_is_put_to_every_player():
    steps = []
    came = await adding().hold({"ten": 10, "five": 5}, advance=lambda: steps.append(1))
    assert came == {"ten": [(1, 10, 11, True), (2, 10, 12, True)], "five": [(1, 5, 6, True), (2, 5, 7, True)]}
    assert len(steps) == 4


async def test_without_players_there_is_nothing_to_sum_up():
    assert await adding().hold({}) == {}


async def test_what_ends_one_play_ends_all():
    with pytest.raises(StoppedEarly, match="missing: ten 1 of 2"):
        await adding(fails=2).hold({"ten": 10})


def test_the_document_and_the_files_are_written(tmp_path):
    document = {"metrics": {"A": 1.5}, "none": None}
    files = {"a.jsonl": ["1\n", "2\n"], "b.jsonl": (record for record in [{"b": 3}])}
    output = Output(document=document, document_file="all.json", files=files)
    write_results(tmp_path, NOT_INVOKED, output, seed=0, models=ModelSettings(), ledger=Ledger())
    assert json.loads((tmp_path / "all.json").read_text()) == document
    assert (tmp_path / "a.jsonl").read_text() == "1\n2\n"
    assert (tmp_path / "b.jsonl").read_text() == '{"b":3}\n'


def test_names_of_minds_become_files_of_their_own_in_the_folder():
    names = ["rules", "direct/a", "direct:a", "direct-a-2", "../../my doctor.py:Doctor", "医生", "::"]
    files = file_names(names)
    assert list(files) == names
    assert files["rules"] == "rules"
    assert files["../../my doctor.py:Doctor"] == "my-doctor.py-Doctor"
    assert files["医生"] == "医生"
    assert len(set(files.values())) == len(names)
    assert not any(part in name for name in files.values() for part in ("/", ":", "\\", ".."))

"""What is over of a stopped run, and what takes its place."""

import pytest
from tests.results.test_results import rows

from polyclinic.errors import BadInput
from polyclinic.files import write_text
from polyclinic.results.folder import RunRecord, part_in, read_results, replacing
from polyclinic.run.output import write_record

NEW = {"new.jsonl", "summary.json", "items.jsonl", "results.json"}


@pytest.fixture
def part(tmp_path):
    write_text(tmp_path / "old.jsonl", "{}\n")
    record = RunRecord(kind="eval exam", stopped="interrupted", files=["old.jsonl", "summary.json"])
    write_text(tmp_path / "summary.json", "{}")
    write_record(tmp_path, record, rows("m", 1, n=2))
    (tmp_path / "mine.txt").write_text("mine")
    return tmp_path


def write_whole(place):
    write_text(place / "summary.json", '{"n": 5}')
    write_text(place / "new.jsonl", "{}\n")
    write_record(place, RunRecord(kind="eval exam", files=["new.jsonl", "summary.json"]), rows("m", 2, n=5))


def names(folder):
    return sorted(one.name for one in folder.iterdir())


def test_only_the_same_kind_of_run_gives_way(part):
    assert part_in(part, "eval exam") == {"old.jsonl", "summary.json", "items.jsonl", "results.json"}
    assert not part_in(part, "eval tor")
    with replacing(part) as place:
        write_whole(place)
    assert part_in(part, "eval exam") == NEW


def test_what_is_new_takes_the_place_of_what_was_there_and_of_nothing_else(part):
    with replacing(part) as place:
        assert place != part
        write_whole(place)
        assert len(read_results(part)[0].rows) == 2
    assert len(read_results(part)[0].rows) == 5
    assert names(part) == ["items.jsonl", "mine.txt", "new.jsonl", "results.json", "summary.json"]


def test_whoever_fails_while_writing_leaves_what_was_there(part):
    before = {name: (part / name).read_bytes() for name in names(part)}
    with pytest.raises(BadInput), replacing(part) as place:
        write_text(place / "new.jsonl", "{}\n")
        raise BadInput("no room")
    assert {name: (part / name).read_bytes() for name in names(part)} == before


def test_what_cannot_be_written_whole_leaves_nothing_and_is_named_where_it_was_to_be(tmp_path):
    with pytest.raises(BadInput, match=r"new\.jsonl: no room") as problem, replacing(tmp_path / "out") as place:
        write_text(place / "summary.json", "{}\n")
        raise BadInput("no room", path=place / "new.jsonl")
    assert problem.value.path == tmp_path / "out" / "new.jsonl"
    assert not (tmp_path / "out").exists() or names(tmp_path / "out") == []


@pytest.mark.parametrize("moved", range(5))
def test_whoever_is_killed_while_files_change_places_is_helped_on(part, moved):
    """The record goes last: whatever came through, the next run knows what there is to do."""
    whole = part / ".results-whole"
    whole.mkdir()
    write_whole(whole)
    order = ["items.jsonl", "new.jsonl", "summary.json", "results.json"][:moved]
    if order:
        (part / "old.jsonl").unlink()
    for name in order:
        (whole / name).replace(part / name)
    assert part_in(part, "eval exam") == NEW
    assert names(part) == ["items.jsonl", "mine.txt", "new.jsonl", "results.json", "summary.json"]
    assert len(read_results(part)[0].rows) == 5


def test_what_was_begun_and_never_whole_goes_away(part):
    begun = part / ".results-begun"
    begun.mkdir()
    (begun / "results.json").write_text("{")
    assert part_in(part, "eval exam")
    assert not begun.exists()

"""The files that a run was made from, and not those that it is itself."""

from polyclinic.results.provenance import data_files


def test_the_folder_that_is_gone_on_with_is_no_data(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.lock").write_text("")
    (tmp_path / "cases.jsonl").write_text("{}\n")
    found = data_files({"resume": tmp_path / "run", "cases": tmp_path / "cases.jsonl"})
    assert [one.option for one in found] == ["cases"]

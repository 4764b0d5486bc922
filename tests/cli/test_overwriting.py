"""No command writes its output over what a run has left, or over what is of another kind."""

import pytest


@pytest.fixture(scope="module")
def kept(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "results"
    run("eval", "aie", "--cases", "shipped", "--limit", "1", "--doctor", "rules", "--out", folder)
    return folder


@pytest.mark.slow
def test_what_a_run_has_left_is_never_written_over(run, kept):
    before = {path: path.read_bytes() for path in kept.iterdir()}
    for name in ("items.jsonl", "results.json", "rules.jsonl"):
        for words in (
            ("report", kept, "--out"),
            ("results", "show", kept, "--out"),
            ("consult", "shipped#p1-00001", "--out"),
        ):
            done = run(*words, kept / name, code=2)
            assert done.stderr.count("\n") == 1 and name in done.stderr, (words, done.stderr)
    assert {path: path.read_bytes() for path in kept.iterdir()} == before


@pytest.mark.slow
def test_a_case_file_is_neither_a_page_nor_a_trace(run, kept, tmp_path):
    cases = tmp_path / "cases.jsonl"
    run("cases", "generate", "--n", "1", "--out", cases)
    before = cases.read_bytes()
    for words in (("report", kept), ("consult", "shipped#p1-00001")):
        assert "of another kind" in run(*words, "--out", cases, code=2).stderr
    assert cases.read_bytes() == before
    for _ in range(2):
        run("report", kept, "--out", tmp_path / "page.html")
        run("consult", "shipped#p1-00001", "--out", tmp_path / "trace.jsonl")

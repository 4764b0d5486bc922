"""A person plays in evaluations, at a terminal of its own: lines are taken back, and the talk is left and taken up."""

import json
import os
import pty
import sys

import pytest

REPORT = ("Influenza A 80%", "", "fever", "", "", "it is winter", "", "rest", "")


@pytest.fixture
def at_terminal(tmp_path, monkeypatch):
    """Runs a command whose terminal is this one; what is typed is there before it is asked for, and then nobody is."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(words, lines):
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(tmp_path)
            os.execv(sys.executable, [sys.executable, "-m", "polyclinic", *words])
        os.write(terminal, "".join(f"{line}\n" for line in lines).encode() + b"\x04")
        shown = bytearray()
        try:
            while part := os.read(terminal, 65_536):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(terminal)
        _, status = os.waitpid(child, 0)
        return shown.decode(), os.waitstatus_to_exitcode(status)

    return run


@pytest.mark.slow
def test_a_line_is_taken_back_and_the_talk_is_taken_up(at_terminal, tmp_path):
    evaluation = ("reliability", "--set", "reliability.attack=false", "--doctor", "human")
    words = ("eval", *evaluation, "--cases", "shipped", "--limit", "1", "--set", "run.session=typed", "--out", "out")
    shown, code = at_terminal(words, ["Any fevr?", "/undo", "Any fever?"])
    assert code == 1 and "Taken back: Any fevr?" in shown and "LineTakenBack" not in shown
    assert "left after 1 line; the same command resumes from there" in shown
    assert [json.loads(line)["line"] for line in (tmp_path / "typed").read_text().splitlines()] == ["Any fever?"]
    shown, code = at_terminal(words, ["/undo", "Since when?", "/done", *REPORT])
    assert code == 0 and "Taken back: Any fever?" in shown
    kept = "".join(path.read_text("utf-8") for path in (tmp_path / "out").glob("*.json*"))
    assert "Since when?" in kept and "Any fev" not in kept


@pytest.mark.slow
def test_in_a_team_a_line_of_the_discussion_is_taken_back(at_terminal, tmp_path):
    words = (
        "eval",
        "mvme",
        "--cases",
        "shipped",
        "--limit",
        "2",
        "--doctors",
        "human",
        "rules",
        "--set",
        "run.session=typed",
    )
    # One patient at a time: what is typed for the first is not taken for the second's.
    shown, code = at_terminal(words, ["/done", *REPORT, "Gout", "/undo", *REPORT[:3]])
    assert code == 1 and "Taken back: Gout" in shown and "LineTakenBack" not in shown
    typed = [json.loads(line) for line in (tmp_path / "typed").read_text("utf-8").splitlines()]
    assert {one["seat"] for one in typed} == {
        "human p1-00001",
        "human p1-00001/doctor 1 of human, rules; parallel",
    }
    assert [one["line"] for one in typed] == ["/done", *REPORT, *REPORT[:3]]


@pytest.mark.slow
def test_a_session_is_of_somebody_who_types(complaint):
    for evaluation in ("mvme", "reliability"):
        words = ("eval", evaluation, "--cases", "shipped", "--doctor", "rules", "--set", "run.session=typed")
        assert "run.session keeps what a person types" in complaint(*words)

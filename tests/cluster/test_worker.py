"""A worker: its process is heard of, and does not outlive whoever wants it."""

import io
import subprocess
import sys
import time

import pytest

from polyclinic.cluster import child, left, worker
from polyclinic.cluster.jobs import AnswersCame, ClusterJob, Here, JobEnded, Warned
from polyclinic.cluster.left import left_answers
from polyclinic.cluster.worker import JobWorker
from polyclinic.errors import UserError
from polyclinic.models.journal_parts import JournalPart, JournalRow
from polyclinic.models.limits import Division

ROW = JournalRow("calls", ("run", "episode", b"request", 0, "turn", b"reply"))


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Begins a job whose process runs the code that is given, in its own folder."""
    popen, workers = subprocess.Popen, []

    def begin(code, answered=(), **job):
        def plain(words, **options):
            return popen([sys.executable, "-c", code, *words[4:]], **options)

        monkeypatch.setattr(subprocess, "Popen", plain)
        one = JobWorker()
        made = {"name": "n", "words": [Here("j")], "folder": str(tmp_path), "answers": "j", "tails": "j", **job}
        one.begin(ClusterJob(**made), list(answered))
        workers.append(one)
        return one

    yield begin
    for one in workers:
        one.stop()
        one.release()


def heard_of(one):
    heard = []
    while not any(isinstance(news, JobEnded) for news in heard):
        heard += one.news()
        time.sleep(0.01)
    return heard


def test_answers_progress_and_the_end_are_heard_of(begun):
    code = "import sys; print('part 2 5'); print('a table', flush=True); sys.exit('polyclinic: no such case')"
    one = begun(code, [ROW])
    heard = heard_of(one)
    assert [news for news in heard if isinstance(news, AnswersCame)] == [AnswersCame([ROW])]
    assert [(news.done, news.total) for news in heard if hasattr(news, "total")] == [(2, 5)]
    assert (heard[-1].code, heard[-1].said) == (1, "no such case")
    assert one.news() == []


def test_what_a_command_warns_of_is_heard_while_it_goes_on(begun):
    one = begun("import sys; print('warned', 'the database is away', flush=True); sys.stdin.readline()")
    heard = []
    while not heard:
        heard += one.news()
        time.sleep(0.01)
    assert heard == [Warned("the database is away")]


def test_it_is_told_among_how_many_what_endpoints_take_is_divided(begun):
    one = begun("import sys; print('part', int(sys.stdin.readline()), 9, flush=True)")
    one.divide(3)
    assert [(news.done, news.total) for news in heard_of(one) if hasattr(news, "total")] == [(3, 9)]
    one.divide(2)  # nobody is there any more


def test_a_process_divides_as_it_is_told_and_ends_with_whoever_tells_it(monkeypatch):
    division, over = Division(4), []
    monkeypatch.setattr(sys, "__stdin__", io.StringIO("3\n2\n"))
    monkeypatch.setattr(child.os, "_exit", over.append)
    child._until_gone(division)
    assert (division.of, over) == (2, [137])


def test_news_are_waited_for(begun):
    one = begun("import time; time.sleep(600)")
    assert one.news(0.01) == []
    with JournalPart(one._here / "j") as part:
        part.add([ROW])
    assert one.news(60) == [AnswersCame([ROW])]


def test_a_long_file_is_looked_at_more_seldom_and_at_the_end(begun, monkeypatch):
    one = begun("import time; time.sleep(600)")
    monkeypatch.setattr(worker, "_TIMES", 1e9)
    monkeypatch.setattr(worker, "_LONGEST", 600)
    assert one.news() == []
    with JournalPart(one._here / "j") as part:
        part.add([ROW])
    assert one.news() == []
    one._process.kill()
    assert heard_of(one)[0] == AnswersCame([ROW])


def test_what_a_job_of_a_command_was_answered_stays_until_it_is_released(begun, tmp_path, monkeypatch):
    monkeypatch.setattr(left, "cache_folder", lambda: tmp_path)
    one = begun("import time; time.sleep(600)", [ROW], kept="command")
    with pytest.raises(UserError):
        left_answers("command", 0)  # the process is there
    one._process.kill()
    assert left_answers("command", 60) == {"n": [ROW]}
    heard_of(one)
    assert left_answers("command", 0) == {"n": [ROW]}
    one.release()
    assert left_answers("command", 0) == {}


def test_a_process_that_nobody_asks_about_is_ended(begun, monkeypatch):
    one = begun("import time; time.sleep(600)", [ROW])
    with monkeypatch.context() as at_once:
        at_once.setattr(worker, "LEASE", 0.0)
        one._end_unasked(one._process)
    heard = heard_of(one)
    assert AnswersCame([ROW]) in heard  # whoever asks after all hears what was answered
    assert heard[-1].code < 0


def test_the_child_runs_the_command_line():
    words = [sys.executable, "-m", "polyclinic.cluster.child", "1", "demo", "--help"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert b"polyclinic demo" in child.stdout.read()  # it runs the command line


def test_rows_come_once_and_the_first_stays(tmp_path):
    with JournalPart(tmp_path / "a") as a, JournalPart(tmp_path / "b") as b:
        asked = [JournalRow("messages", (b"id", b"hello")), JournalRow("prompts", (b"request", "m", "r", b"id", ""))]
        a.add([*asked, ROW])
        assert a.new() == []  # what was put in is not new
        with JournalPart(tmp_path / "a") as again:
            rows = again.new()
            assert rows == [*asked, ROW]
            assert again.new() == []
        b.add(rows)
        b.add([ROW._replace(values=(*ROW.values[:-1], b"another"))])
        with JournalPart(tmp_path / "b") as again:
            assert again.new() == rows

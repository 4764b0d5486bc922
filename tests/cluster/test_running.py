"""Parts of a command: each is done once, whoever is lost; what is wrong is said once, and stops all."""

import asyncio
from collections import Counter

import pytest

from polyclinic.cluster.jobs import Advanced, AnswersCame, ClusterJob, JobEnded, Warned, WorkerLost
from polyclinic.cluster.running import MOST_LOSSES, run_jobs
from polyclinic.errors import UserError


def job(name):
    return ClusterJob(name=name, words=["eval"], folder="/there", answers="j", tails="j")


class Planned:
    """A site whose workers do as is planned for each time that a job is begun: news, or a loss."""

    name, ships = "planned", False

    def __init__(self, workers, **plans):
        self.workers, self.plans, self.begun, self.stopped = workers, plans, Counter(), []
        self.given, self.released, self.divided = [], [], []
        self.now = self.most = 0

    async def begin(self, job, answered, *, of):
        self.divided.append((job.name, of))
        self.begun[job.name] += 1
        self.given.append((job.name, list(answered)))
        plan = self.plans[job.name]
        return Under(self, job.name, list(plan[min(self.begun[job.name], len(plan)) - 1]))


class Under:
    def __init__(self, site, name, plan):
        self.site, self.name, self.plan = site, name, plan
        site.now += 1
        site.most = max(site.most, site.now)

    async def news(self):
        await asyncio.sleep(0)
        if not self.plan:
            await asyncio.sleep(3600)
        one = self.plan.pop(0)
        if isinstance(one, (WorkerLost, JobEnded)):
            self.site.now -= 1
        if isinstance(one, WorkerLost):
            raise one
        return [one]

    async def divide(self, of):
        self.site.divided.append((self.name, of))

    async def stop(self):
        self.site.stopped.append(self.name)
        return [f"{self.name} at the stop"]

    async def release(self):
        self.site.released.append(self.name)


class Kept:
    def __init__(self):
        self.rows = {}

    def answered(self, job):
        return self.rows.get(job.name, [])

    def keep(self, job, rows):
        self.rows.setdefault(job.name, []).extend(rows)


OVER = JobEnded(0)


async def run(site, names, kept, **more):
    return await run_jobs(site, [job(name) for name in names], answered=kept.answered, keep=kept.keep, **more)


async def test_all_are_done_once_no_more_at_a_time_than_there_are_workers():
    names, told = [f"j{n}" for n in range(7)], []
    site = Planned(3, **{name: [[Advanced(1, 2), AnswersCame([name]), OVER]] for name in names})
    ends = await run(site, names, Kept(), advance=lambda job, done, total: told.append((job.name, done, total)))
    assert set(ends) == set(names)
    assert set(site.begun.values()) == {1}
    assert site.most == 3
    assert sorted(told) == [(name, 1, 2) for name in names]


async def test_a_worker_forgets_its_job_when_all_of_it_is_stored():
    site, kept, seen = Planned(1, a=[[AnswersCame(["one"]), OVER]]), Kept(), []

    def ended(job, end):
        seen.append((kept.answered(job), list(site.released)))

    await run(site, "a", kept, ended=ended)
    assert seen == [(["one"], [])]
    assert site.released == ["a"]


async def test_what_endpoints_take_is_divided_among_those_that_are_at_work():
    few, many = [OVER], [Advanced(n, 20) for n in range(20)]
    site = Planned(2, a=[few], b=[[*many, OVER]], c=[few])
    await run(site, "abc", Kept())
    assert site.divided == [("a", 2), ("b", 2), ("c", 2), ("b", 1)]


async def test_what_several_parts_warn_of_is_said_once(caplog):
    away, busy = Warned("the database is away"), Warned("a server is busy")
    site = Planned(2, a=[[away, busy, OVER]], b=[[away, OVER]])
    await run(site, "ab", Kept())
    assert caplog.messages == [away.line, busy.line]


async def test_who_is_lost_is_followed_by_another_who_gets_what_was_answered():
    lost = [AnswersCame(["one"]), WorkerLost("gone")]
    site = Planned(2, a=[lost, [AnswersCame(["two"]), JobEnded(-9)], [OVER]], b=[[OVER]])
    kept = Kept()
    ends = await run(site, "ab", kept)
    assert {name: end.code for name, end in ends.items()} == {"a": 0, "b": 0}
    assert [rows for name, rows in site.given if name == "a"] == [[], ["one"], ["one", "two"]]
    assert Counter(site.released) == {"a": 3, "b": 1}


async def test_a_job_that_ends_all_its_workers_is_given_up():
    site = Planned(1, a=[[WorkerLost("gone")]])
    with pytest.raises(WorkerLost, match=f"gone; given up after {MOST_LOSSES} times"):
        await run(site, "a", Kept())
    assert site.begun["a"] == MOST_LOSSES


async def test_wrong_input_stops_the_others_whose_answers_are_kept():
    kept, site = Kept(), Planned(2, a=[[JobEnded(2, "/there/a.jsonl: no such file")]], b=[[]])
    with pytest.raises(UserError, match=r"^a\.jsonl: no such file"):
        await run(site, "ab", kept)
    assert site.stopped == ["b"]
    assert kept.rows["b"] == ["b at the stop"]


async def test_a_run_that_failed_is_told_and_not_made_again():
    site = Planned(1, a=[[JobEnded(1, "too many failed")]], b=[[OVER]])
    ends = await run(site, "ab", Kept())
    assert (ends["a"].code, ends["a"].said, site.begun["a"]) == (1, "too many failed", 1)

"""What the town's page is told of a run."""

import gzip
from contextlib import closing

from tests.web.asking import asked
from tests.web.conftest import rows_of

from polyclinic.hospital.record.recorded import RecordedRun, lock


async def test_runs_are_listed_and_what_is_none_says_why(pages):
    runs = {run["id"]: run for run in (await asked(pages, "/api/town/runs")).document["runs"]}
    assert set(runs) == {"one", "deep/two", "broken"}
    assert runs["one"]["over"] and not runs["deep/two"]["over"]
    assert runs["broken"]["problem"].startswith("broken")


async def test_no_text_of_a_request_becomes_a_path(pages, runs):
    for id in ("", "../elsewhere/secret", "out", str(runs / "one"), "one/../one", "%2e%2e", "one\0"):
        assert (await asked(pages, f"/api/town/about?run={id}")).status == 404
    for path in ("/../pyproject.toml", "/%2e%2e/x", "//etc/passwd", "/assets/../../town/routes.py", "/routes.py"):
        assert (await asked(pages, path)).status == 404


async def test_the_state_is_that_of_the_record(pages, runs):
    answer = (await asked(pages, "/api/town/state?run=one&t=30795")).document
    with RecordedRun(runs / "one") as run:
        there = run.seek(30_795)
    assert answer["over"] and answer["world"]["seq"] == there.seq
    assert answer["world"]["people"].keys() == there.people.keys() == {"r00001", "r00002"}
    assert [place[3] for place in answer["world"]["queues"]["triage"]] == ["r00001"]
    at_the_end = (await asked(pages, "/api/town/state?run=one")).document["world"]
    assert at_the_end["counts"]["diagnosed"] == 3
    assert answer["world"]["ill"] == len(there.ill) == 2
    ill = (await asked(pages, "/api/town/ill?run=one&t=30795")).document
    assert ill == {who: [one.name, list(one.home)] for who, one in there.ill.items()}


async def test_the_map_is_not_told_what_is_so(pages):
    """Neither by a state, nor by what happens, nor by the notes of the charts."""
    paths = ("state?run=one&t=31000", "ill?run=one&t=31000", "happenings?run=one", "live?run=one", "course?run=one")
    for path in paths:
        told = (await asked(pages, f"/api/town/{path}")).body
        for word in (b"influenza-a", b'"right', b"diagnosed_right", b"severity", b'"case"', b'"cause"', b"mild"):
            assert word not in told, (path, word)
    fell = rows_of(await asked(pages, "/api/town/happenings?run=one&n=1"))[0][3]
    assert fell == {"what": "fell ill", "name": "Ada 0", "home": [-800, -100]}


async def test_what_is_large_is_compressed_for_who_can_read_it(pages):
    plain = await asked(pages, "/api/town/happenings?run=deep/two")
    packed = await asked(pages, "/api/town/happenings?run=deep/two", accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip" and len(packed.body) < len(plain.body) / 4
    assert gzip.decompress(packed.body) == plain.body and int(packed.headers["content-length"]) == len(packed.body)
    small = await asked(pages, "/api/about", accept_encoding="gzip")
    assert "content-encoding" not in small.headers


async def test_a_run_that_nobody_is_at_is_stopped(pages, runs):
    async def told():
        return next(one for one in (await asked(pages, "/api/town/runs")).document["runs"] if one["id"] == "deep/two")

    assert (await told())["stopped"] and (await told())["summary"]["t"] == 150_400
    assert (await asked(pages, "/api/town/about?run=deep/two")).document["stopped"]
    with closing(lock(runs / "deep" / "two")):
        assert not (await told())["stopped"]
        assert not (await asked(pages, "/api/town/state?run=deep/two&t=1")).document["stopped"]
    assert not (await asked(pages, "/api/town/about?run=one")).document["stopped"]


async def test_happenings_come_in_blocks_without_gaps(pages, runs):
    with RecordedRun(runs / "deep" / "two") as run:
        there = [(h.seq, h.t, h.who) for h in run.happenings()]
    told = []
    while True:
        answer = await asked(pages, f"/api/town/happenings?run=deep/two&begin={len(told)}&n=700")
        rows = rows_of(answer)
        told += [tuple(row[:3]) for row in rows]
        assert answer.document["end"] == len(told)
        if not rows:
            break
    assert told == there and len(told) == 1_200


async def test_a_number_that_is_none_is_refused(pages):
    for query in ("begin=x", "begin=-1", "n=0", "n=999999999", "begin=" + "9" * 400):
        assert (await asked(pages, f"/api/town/happenings?run=one&{query}")).status == 400


async def test_a_stream_goes_on_where_a_client_was(pages):
    whole = (await asked(pages, "/api/town/live?run=one")).body.decode()
    assert whole.startswith("id: 17\ndata: [[0,30000,") and whole.endswith("id: 17\nevent: over\ndata: {}\n\n")
    rest = (await asked(pages, "/api/town/live?run=one", last_event_id="15")).body.decode()
    assert rest.startswith("id: 17\ndata: [[16,")
    assert "data: [[1," in (await asked(pages, "/api/town/live?run=one&after=1")).body.decode()


async def test_the_charts_go_on_where_they_were_read(pages):
    # It is read a moment at a time, and how far that leads depends on the machine.
    while (whole := (await asked(pages, "/api/town/course?run=deep/two")).document)["more"]:
        pass
    assert len(whole["points"]) > 60
    t, waiting, _, _, _, calls, waited, diagnosed, right = whole["points"][-1][:9]
    assert t % whole["every"] == 0 and diagnosed > right > 0 == sum(waiting) and calls == waited == [0, 0, 0]
    rest = (await asked(pages, f"/api/town/course?run=deep/two&points={len(whole['points']) - 2}")).document
    assert rest["points"] == whole["points"][-2:]


async def test_a_person_is_told_of_without_the_truth_unless_it_is_asked_for(pages):
    told = await asked(pages, "/api/town/person?run=one&who=r00001")
    assert told.document["resident"]["age"] > 0 and told.document["visits"][0]["moments"]
    for word in (b"influenza-a", b'"right', b"severity", b'"case"', b'"cause"'):
        assert word not in told.body
    assert b'"influenza-a"' in (await asked(pages, "/api/town/person?run=one&who=r00001&truth=1")).body
    for nobody in ("", "r99999", "x" * 500, "d01", "r-1", "r1e3"):
        assert (await asked(pages, f"/api/town/person?run=one&who={nobody}")).status == 404


async def test_names_stand_in_both_languages(pages):
    words = (await asked(pages, "/api/town/words")).document
    assert words["diseases"]["influenza-a"].keys() == {"en", "zh"} and words["examinations"] and words["drugs"]


async def test_a_run_without_a_hospital_says_so(pages):
    answer = await asked(pages, "/api/town/map.tmj?run=deep/two")
    assert answer.status == 422 and "hospital" in answer.document["error"]

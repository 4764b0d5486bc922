"""The town in a real browser: live to its end, sought, two runs on one clock, by keyboard, and with bad input."""

import json
import re
import shutil
import sqlite3
import sys
import time
from contextlib import closing

import msgspec
import tests.web.conftest as by_hand

from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.recorded import RecordedRun, lock
from polyclinic.knowledge.knowledge import read_knowledge


def until(page, condition):
    """Waits until something holds. Playwright's own waiting makes code of texts, which our pages do not allow."""
    end = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


PARTS = ("people", "queues", "duty", "ill", "counts")


def with_all_fields(world):
    """What the record leaves out, as it says nothing, the page has."""
    texts = ("home", "area", "queue", "staff", "served", "department", "bed", "examination")
    empty = {
        **dict.fromkeys(texts, ""),
        "path": [],
        "times": [],
        "began": 0,
        "since": 0,
        "acuity": None,
        "activity": None,
    }
    people = {who: {**empty, **one} for who, one in world["people"].items()}
    duty = {who: {"serves": [], **one} for who, one in world["duty"].items()}
    counts = {name: n for name, n in world["counts"].items() if n}
    return {**world, "people": people, "duty": duty, "counts": counts}


def differences(page, pages, run):
    state = page.evaluate("town.state()")
    there = json.loads(pages.asked(f"/api/town/state?run={run}&t={int(state['t'])}"))["world"]
    ours, theirs = with_all_fields(state), with_all_fields(there)
    return {name for name in PARTS if ours[name] != theirs[name]}


CROSSINGS = """() => {
  const seen = '.name:not([data-form="none"]), .bubble:not([hidden])';
  const boxes = [...document.querySelectorAll(seen)]
    .map((one) => one.getBoundingClientRect());
  return boxes.filter((a, n) => boxes.some((b, m) =>
    m > n && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
}"""


def test_no_name_lies_over_another(opened, pages):
    for width in (1280, 390):
        page = opened(f"{pages.at}/town?run=one&paused#t=36000", width=width)
        seen = []
        for zoom in (0.25, 0.5, 1, 2):
            page.evaluate(f"town.views[0].stage.see({{...town.views[0].stage.look, zoom: {zoom}}})")
            names = "[...document.querySelectorAll('.name')].filter((one) => one.dataset.form === 'whole').length"
            seen.append(page.evaluate(names))
            assert page.evaluate(CROSSINGS) == 0, (width, zoom)
        assert 0 < seen[0] <= seen[-1]


def test_who_is_ill_at_home_is_asked_when_the_map_stands(opened, pages):
    page = opened(f"{pages.at}/town?run=one&paused#t=40000")
    until(page, "town.state().ill === Object.keys(town.state().named).length && town.state().ill > 0")
    assert page.evaluate("town.state().named") == json.loads(pages.asked("/api/town/ill?run=one&t=40000"))
    # From here on it grows by what happens.
    page.get_by_role("button", name="Play").click()
    page.get_by_role("combobox", name="Speed").select_option("3000")
    until(page, "Number(document.body.dataset.t) > 60000")
    page.keyboard.press("Space")
    t = int(page.evaluate("town.state().t"))
    assert page.evaluate("town.state().named") == json.loads(pages.asked(f"/api/town/ill?run=one&t={t}"))


def test_a_page_that_is_older_than_its_server_says_so(opened, pages):
    page = opened(f"{pages.at}/town?run=one&paused#t=36000")
    page.route("**/api/town/state*", lambda route: route.fulfill(response=(got := route.fetch()), headers={
        **got.headers, "x-polyclinic-build": "another"}))  # fmt: skip
    assert page.locator(".renewed").count() == 0
    page.get_by_role("button", name="An hour on").click()
    page.get_by_role("button", name="Load it anew").wait_for()


def test_a_run_that_was_stopped_says_when(opened, pages_of, tmp_path, runs):
    shutil.copytree(runs / "one", tmp_path / "cut")
    with closing(sqlite3.connect(tmp_path / "cut" / "run.sqlite")) as run:
        run.execute("DELETE FROM about WHERE name LIKE 'summary%'")
        run.execute("DELETE FROM happenings WHERE t > 50000")
        run.commit()
    pages = pages_of("serve", str(tmp_path), "--port", "0")
    page = opened(f"{pages.at}/town?run=cut")
    page.get_by_text(re.compile("cut was stopped at Day 1.*, 13:")).wait_for()
    with closing(lock(tmp_path / "cut")):
        until(page, "document.querySelector('.notice').hidden")


def test_the_page_comes_to_the_same_state_as_the_record(opened, pages):
    """From the morning on at full speed, and at any time that is sought."""
    page = opened(f"{pages.at}/town?run=one&speed=10000#t=21600")
    until(page, "Number(document.body.dataset.t) > 45000")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()
    assert page.evaluate("town.state().counts.came") > 10
    assert differences(page, pages, "one") == set()
    for t in (0, 30_000, 61_234, 40_000):
        page.evaluate(f"location.hash = '#t={t}'")
        until(page, f"Math.abs(town.state().t - {t}) < 2")
        assert differences(page, pages, "one") == set(), t
        assert int(page.locator("body").get_attribute("data-seek")) < 2_000


def test_the_slider_seeks_and_the_link_leads_back(opened, pages):
    page = opened(f"{pages.at}/town?run=one&paused#t=30000")
    assert page.locator("output.time").inner_text().endswith("08:20")
    page.get_by_role("button", name="An hour on").click()
    until(page, "Number(document.body.dataset.t) === 33600")
    page.get_by_role("slider").press("End")
    until(page, "Number(document.body.dataset.t) > 33700 && location.hash === `#t=${document.body.dataset.t}`")
    events = page.get_by_role("combobox", name="Jump to")
    events.locator("option").nth(1).wait_for(state="attached")


def test_two_runs_go_by_one_clock(opened, pages):
    page = opened(f"{pages.at}/town?run=one&with=two&speed=3000#t=28000")
    until(page, "Number(document.body.dataset.t) > 36000")
    page.keyboard.press("Space")
    times = page.evaluate("town.runs.map((run) => run.world.t)")
    assert times[0] == times[1] and page.locator(".picture canvas").count() == 2


def test_a_person_is_found_and_read_by_keyboard_alone(opened, pages):
    page = opened(f"{pages.at}/town?run=one&paused#t=36000")
    busy = page.evaluate("Object.values(town.state().people).find((one) => one.staff && one.times.at(-1) < 36000).area")
    name = page.evaluate(f"town.runs[0].about.hospital.areas[{busy!r}].name.en")
    page.get_by_role("button", name=name).press("Enter")
    page.locator(".people .link").last.press("Enter")
    page.locator(".visit li").first.wait_for()
    assert page.get_by_role("button", name="Follow").is_visible()
    assert page.locator(".said").count() > 0
    assert "Has" not in page.locator(".dossier").inner_text()
    page.get_by_label("Show the truth").press("Space")
    page.locator(".truth").first.wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".detail").is_hidden()


def test_a_live_run_is_watched_to_its_end(opened, pages_of, tmp_path):
    town = ["--residents", "600", "--set", "run.load=0.08", "--days", "1", "--out", str(tmp_path / "run")]
    pages = pages_of("run", *town, "--live", "--set", "run.port=0")
    page = opened(f"{pages.at}/town")
    assert page.get_by_role("button", name="Live").get_attribute("aria-pressed") == "true"
    page.wait_for_selector("body[data-over]")
    with RecordedRun(tmp_path / "run") as run:
        assert page.evaluate("town.state().seq") == len(run) - 1
        assert run.summary is not None
    assert differences(page, pages, "run") == set()


def test_a_server_that_dies_is_told_and_the_page_goes_on_when_it_is_back(opened, pages_of, runs):
    first = pages_of("serve", str(runs / "one"), "--port", "0")
    page = opened(f"{first.at}/town?paused#t=30000")
    first.close()
    page.get_by_role("button", name="An hour on").click()
    page.get_by_role("alert").wait_for()
    assert "does not answer" in page.get_by_role("alert").inner_text()
    opened.complaints[:] = [one for one in opened.complaints if "ERR_CONNECTION_REFUSED" not in one]
    pages_of("serve", str(runs / "one"), "--port", first.port)
    # What was sought when nobody answered is shown then.
    until(page, "town.state().t === 33600 && document.querySelector('.notice').hidden")
    assert differences(page, first, "one") == set()
    opened.complaints[:] = [one for one in opened.complaints if "ERR_CONNECTION_REFUSED" not in one]


NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe\u0000\u0007 " + "x" * 100_000


def test_whatever_somebody_wrote_is_text(opened, pages_of, tmp_path, monkeypatch):
    told = list(by_hand.happened(2))
    told[0] = (*told[0][:2], msgspec.structs.replace(told[0][2], name=NASTY))
    monkeypatch.setattr(by_hand, "happened", lambda n: told)
    hospital = msgspec.to_builtins(read_hospital(None, read_knowledge()), str_keys=True)
    hospital["areas"]["triage"]["name"]["en"] = NASTY[:300]
    by_hand.keep(tmp_path / "<b>nasty", about={"seed": 1, "residents": 9, "hospital": hospital})
    pages = pages_of("serve", str(tmp_path), "--port", "0")
    page = opened(f"{pages.at}/", ready=False)
    page.get_by_role("heading", name="<b>nasty").wait_for()
    page.get_by_role("link", name="Watch").click()
    page.wait_for_selector("body[data-ready]")
    page.evaluate("location.hash = '#t=30850'")
    until(page, "Number(document.body.dataset.t) >= 30850")
    page.locator(".name", has_text="<img").press("Enter")
    page.locator(".people .link", has_text="<img").first.wait_for()
    assert page.locator("img[src=x]").count() == 0 and "\u202e" not in page.inner_text("body")


def test_a_browser_without_webgl_draws_on_a_canvas(opened, pages, playwright):
    page = opened(f"{pages.at}/town?run=one&paused#t=36000")
    # This machine has no GPU, so that WebGL would be made by its processor.
    assert page.locator(".picture").get_attribute("data-renderer") in ("canvas", "webgl")
    other = opened(f"{pages.at}/town?run=one&paused&renderer=canvas#t=36000")
    assert other.locator(".picture").get_attribute("data-renderer") == "canvas"
    assert other.evaluate("town.state().drawn") > 5


def test_a_run_that_is_not_there_is_said(opened, pages):
    page = opened(f"{pages.at}/town?run=nobody", ready=False)
    page.get_by_role("alert").wait_for()
    assert "no run" in page.get_by_role("alert").inner_text()
    opened.complaints.clear()


def test_it_is_quick_enough(opened, pages):
    began = time.monotonic()
    page = opened(f"{pages.at}/town?run=one&speed=300#t=36000")
    assert time.monotonic() - began < 20
    page.wait_for_timeout(1_500)
    assert int(page.locator("body").get_attribute("data-rate")) >= 5, sys.platform

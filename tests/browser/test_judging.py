"""An annotation study in a real browser: two people, and a third where they differ."""

import re
import subprocess
import sys

import pytest

from polyclinic.judging.people import disputed
from polyclinic.judging.verdicts import read_verdicts


@pytest.fixture(scope="module")
def judged(pages_of, tmp_path_factory):
    """A folder with two doctors' traces, and a server of it."""
    folder = tmp_path_factory.mktemp("judging")
    for name, turns in (("long", "6"), ("short", "2")):
        trace = folder / f"{name}.jsonl"
        command = [sys.executable, "-m", "polyclinic", "consult", "shipped#p1-00001", "--max-turns", turns]
        subprocess.run([*command, "--out", str(trace)], check=True, capture_output=True)
        # Changed on purpose, and so without the sum that tells of damage.
        text = re.sub(r',"sum":"[0-9a-f]+"', "", trace.read_text("utf-8"), count=1)
        trace.write_text(text.replace('"doctor":"rules"', f'"doctor":"rules/{name}"'), "utf-8")
    return folder, pages_of("serve", str(folder), "--port", "0")


def judge(page, answer):
    """Answers every item by keys alone; `answer` gives the digit of a question, by its place. Returns how many."""
    items = 0
    while True:
        page.wait_for_selector("fieldset.marked")
        for place in range(page.locator("fieldset").count()):
            page.keyboard.press(answer(place))
        page.wait_for_function("() => document.querySelectorAll('fieldset input:checked').length"
                               " === document.querySelectorAll('fieldset').length")  # fmt: skip
        page.wait_for_selector(".kept")
        items += 1
        told = page.locator("main [role=status]").first.inner_text()
        at, of = (int(word) for word in told.split("·")[0].split() if word.isdigit())
        if at == of:
            return items
        was = page.url
        page.keyboard.press("n")
        page.wait_for_function("was => location.href !== was && !document.querySelector('.kept')", arg=was)


def test_two_people_judge_and_a_third_decides(opened, judged, looked_at):
    folder, served = judged
    page = opened(f"{served.at}/judging#/study/new", ready=False)
    page.fill("#title", "Who asks better?")
    page.fill("#people", "Ann\nBo")
    page.fill("#thirds", "Cleo")
    for value in ("pairs doctor", "rounds", "long.jsonl", "short.jsonl"):
        page.check(f"input[value='{value}']")
    assert looked_at(page) == []
    page.click("button[type=submit]")
    page.wait_for_selector("a.address")
    ann, bo, cleo = (page.locator("a.address").nth(n).get_attribute("href") for n in range(3))
    desk = opened(cleo, ready=False)
    desk.wait_for_selector(".lead")
    assert desk.locator("fieldset").count() == 0
    desk = opened(ann, ready=False)
    items = judge(desk, lambda place: "1")
    assert looked_at(desk) == [] and "rules/" not in desk.content()
    assert judge(opened(bo, ready=False, width=390), lambda place: "2" if place == 0 else "1") == items
    assert judge(opened(cleo, ready=False), lambda place: "1") == items
    page.reload()
    page.wait_for_selector("section table")
    assert page.locator("section table").first.locator("tbody tr").count() == 9 and looked_at(page) == []
    with page.expect_download() as download:
        page.click("a[href$='/verdicts.jsonl']")
    download.value.save_as(folder / "verdicts.jsonl")
    verdicts = read_verdicts([folder / "verdicts.jsonl"])
    assert len(verdicts) == 3 * items and {one.who for one in verdicts} == {"Ann", "Bo", "Cleo"}
    assert not disputed(verdicts, "rounds") and not disputed(verdicts, "pairs doctor")

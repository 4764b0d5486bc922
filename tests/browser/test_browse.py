"""Results in a real browser: from the table to a sentence, by keyboard, and the same from a copy on disk."""

import json
import subprocess
import sys

import pytest

from polyclinic.results.folder import ItemMeasure, ItemRow, RunRecord
from polyclinic.run.output import write_record

PLANTED = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with a table of two questions and a visit, and with a meeting; what the doctor says is markup."""
    folder = tmp_path_factory.mktemp("results")
    table, trace = folder / "table", folder / "table" / "rules.jsonl"
    table.mkdir()
    for arguments in (
        ["consult", "shipped#p1-00001", "--out", str(trace)],
        ["eval", "tor", "--cases", "inpatients", "--limit", "1", "--doctor", "rules", "--out", str(folder / "tor")],
    ):
        subprocess.run([sys.executable, "-m", "polyclinic", *arguments], check=True, capture_output=True)
    lines = trace.read_text("utf-8").splitlines()
    planted = {**json.loads(lines[2]), "text": PLANTED}
    trace.write_text("\n".join([*lines[:2], json.dumps(planted), *lines[3:]]) + "\n", "utf-8")
    votes = [{"seq": n, "purpose": f"vote 1, expert {n}", "text": '{"vote": "yes"}'} for n in range(3)]
    outcomes = [{"id": f"q{n}", "key": ["A"], "right": not n, "outcome": {"answers": ["A"], "end": "answered",
                                                                       "trace": votes}} for n in range(2)]  # fmt: skip
    (table / "asked.jsonl").write_text("".join(json.dumps(one) + "\n" for one in outcomes), "utf-8")
    rows = [
        ItemRow(item=f"q{n}", model="asked", values={"right": 100.0 * n}, at=f"asked.jsonl:{n + 1}") for n in (0, 1)
    ]
    rows.append(ItemRow(item="p1-00001", model="rules", values={"right": 100.0}, at="rules.jsonl:1"))
    write_record(table, RunRecord(kind="eval aie", measures=[ItemMeasure(name="right")]), rows)
    return folder


@pytest.fixture(scope="module")
def copied(kept, tmp_path_factory):
    out = tmp_path_factory.mktemp("copy") / "site"
    command = [sys.executable, "-m", "polyclinic", "report", str(kept), "--format", "site", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return f"file://{out}/index.html"


@pytest.fixture(scope="module")
def served(kept, pages_of):
    return pages_of("serve", str(kept), "--port", "0").at + "/browse"


@pytest.fixture(params=["served", "copied"])
def place(request):
    return request.getfixturevalue(request.param)


def test_a_table_leads_to_what_was_said(opened, place):
    page = opened(place)
    page.get_by_role("link", name="table", exact=True).press("Enter")
    page.get_by_role("link", name="rules", exact=True).press("Enter")
    page.get_by_role("link", name="p1-00001").press("Enter")
    page.wait_for_selector("li.said")
    assert page.locator("li.said bdi", has_text="<script>").inner_text() == PLANTED
    assert page.locator("main img, main script").count() == 0
    result = page.locator(".report section", has_text="Examinations").locator("a").first
    result.press("Enter")
    assert page.evaluate("document.activeElement.matches('tr.sought')")
    assert not page.get_by_text("Typical:").is_visible()
    page.get_by_text("Show the truth of the case").press("Enter")
    was = page.url
    page.reload()
    page.wait_for_selector("li.said")
    assert page.url == was
    page.go_back()
    page.wait_for_selector("#named")


def test_a_word_is_found_where_it_was_said(opened, place):
    page = opened(place)
    page.get_by_role("searchbox").fill("onerror IMG")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits li")
    assert page.locator(".hits li").count() == 1
    page.locator(".hits a").press("Enter")
    page.wait_for_selector("li.sought")
    assert PLANTED in page.locator("li.sought").inner_text()


def test_evidence_shows_where_in_the_record_it_stands(opened, served):
    page = opened(f"{served}#/record/tor/1/1")
    page.locator(".stage[open] button.evidence").first.press("Enter")
    assert page.locator("mark").count() == 1 and page.evaluate("document.activeElement.tagName") == "MARK"


def test_every_view_can_be_read_by_everybody(opened, served, looked_at):
    views = ("", "about/table", "items/table", "item/table/0", "item/table/2", "list/tor/1/0", "record/tor/1/1",
             "together", "search?q=fever")  # fmt: skip
    found = {}
    for scheme, locale, width in (("light", "en-GB", 1280), ("dark", "zh-CN", 390)):
        page = opened(served, scheme=scheme, locale=locale, width=width)
        for view in views:
            page.evaluate("view => { delete document.body.dataset.ready; location.hash = `#/${view}`; }", view)
            if view:
                page.wait_for_selector("body[data-ready]")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            serious = looked_at(page)
            if serious or wide > 0:
                found[view, scheme] = serious, wide
        page.close()
    assert found == {}

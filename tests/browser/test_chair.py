"""The doctor's chair in a real browser: a visit by keyboard alone, and a class from its links to its table."""

import base64
import csv
import io
import json
import urllib.request

import pytest

EVIL = "<img src=x onerror=alert(1)>\u202e\u0007<script>alert(2)</script>"


@pytest.fixture(scope="module")
def served(pages_of, tmp_path_factory):
    return pages_of("serve", str(tmp_path_factory.mktemp("chair")), "--port", "0")


def tab_to(page, selector):
    """Goes on with the tabulator until it is there; nothing is clicked."""
    for _ in range(150):
        if page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the tabulator does not reach {selector}")


def lines(page):
    return page.locator(".dialogue .line:not(.waiting)")


def wait_for_lines(page, n):
    page.wait_for_function("n => document.querySelectorAll('.dialogue .line:not(.waiting)').length >= n", arg=n)


def test_a_visit_is_played_to_its_score_by_keyboard_alone(opened, served, looked_at):
    page = opened(f"{served.at}/chair", ready=False)
    sent = []

    def passed_on(route):
        answer = route.fetch()
        sent.append(answer.body())
        route.fulfill(response=answer)

    page.route("**/api/**", passed_on)
    page.wait_for_selector(".begin button.main")
    tab_to(page, ".begin button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector("#say")
    tab_to(page, "#say")
    page.keyboard.type(f"Do you have a cough? {EVIL}")
    page.keyboard.press("Enter")
    wait_for_lines(page, 3)
    assert "<script>alert(2)</script>" in lines(page).nth(1).inner_text()
    assert page.locator(".dialogue img, .dialogue script").count() == 0
    tab_to(page, "#order")
    for words in ("chest x", "blood count"):
        page.keyboard.type(words)
        page.wait_for_selector("#order-list li")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
    assert page.locator(".chips li").count() == 2
    tab_to(page, ".order button[type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".result")
    assert page.locator(".result svg").count() > 3
    page.locator("body").press("Tab")
    tab_to(page, ".actions button:nth-of-type(2)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hints li")
    tab_to(page, ".aside input[type=text]")
    page.keyboard.type("Influenza A")
    page.keyboard.press("Tab")
    page.keyboard.type("60")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.aside').textContent.includes('Noted after turn 2')")
    assert looked_at(page) == []
    # What was begun is there after the page was loaded anew.
    page.reload()
    page.wait_for_selector(".result")
    assert lines(page).count() == 6 and page.locator(".aside input[type=text]").first.input_value() == "Influenza A"
    tab_to(page, ".actions button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.report")
    assert page.evaluate("document.activeElement.value") == "Influenza A"
    before = b"".join(sent)
    assert b'"truth"' not in before and b'"treatment"' not in before and b"icd10" not in before
    for part, text in (("symptoms", "a cough\nfever"), ("rationale", "fever in winter"), ("treatment", "rest")):
        tab_to(page, f"#report-{part}")
        page.keyboard.type(text)
    assert looked_at(page) == []
    tab_to(page, "form.report button[type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".total .big")
    assert page.locator("table.wide thead th").count() == 3
    assert looked_at(page) == []


def test_a_lost_server_loses_no_words(opened, pages_of, tmp_path):
    mine = pages_of("serve", str(tmp_path), "--port", "0")
    page = opened(f"{mine.at}/chair", ready=False)
    page.click(".begin button.main")
    page.wait_for_selector("#say")
    page.fill("#say", "Do you have a cough?")
    mine.process.kill()
    mine.process.wait(20)
    page.press("#say", "Enter")
    page.wait_for_selector(".notice:not([hidden])")
    assert page.input_value("#say") == "Do you have a cough?"
    pages_of("serve", str(tmp_path), "--port", mine.port)
    page.press("#say", "Enter")
    wait_for_lines(page, 3)
    assert page.input_value("#say") == "" and not page.locator(".notice").is_visible()
    opened.complaints[:] = [one for one in opened.complaints if "ERR_CONNECTION_REFUSED" not in one]


def test_a_visit_begins_once_however_often_it_is_asked_for(opened, served):
    page = opened(f"{served.at}/chair", ready=False)
    begun = []
    page.on("request", lambda one: begun.append(one.url) if one.method == "POST" else None)
    page.wait_for_selector("main li button")
    page.eval_on_selector("main li button", "button => { for (let n = 0; n < 5; n++) button.click(); }")
    page.wait_for_selector("#say")
    assert len(begun) == 1


def test_a_step_is_taken_back_and_the_report_left_for_the_patient(opened, served):
    page = opened(f"{served.at}/chair", ready=False)
    page.click(".begin button.main")
    page.fill("#say", "Have you a caugh?")
    page.press("#say", "Enter")
    wait_for_lines(page, 3)
    page.get_by_role("button", name="Take back").click()
    page.wait_for_function("() => document.querySelectorAll('.dialogue .line').length === 1")
    assert page.input_value("#say") == "Have you a caugh?"
    page.get_by_role("button", name="End the talk").click()
    page.fill("#report-symptoms", "a cough")
    page.get_by_role("button", name="Back to the patient").click()
    page.wait_for_selector("#say")
    page.get_by_role("button", name="End the talk").click()
    page.wait_for_selector("form.report")
    assert page.input_value("#report-symptoms") == "a cough"
    page.get_by_role("button", name="Hand in").click()
    page.wait_for_selector("form.report .problem:not([hidden])")  # there is no diagnosis in it


def test_a_class_from_its_links_to_its_table(opened, served, looked_at):
    page = opened(f"{served.at}/chair#/class/new", ready=False)
    page.wait_for_selector(".list li button")
    page.fill("#title", "Year four")
    page.fill("#names", f"Ann\n{EVIL}"[:110])
    page.locator(".list li button").nth(0).click()
    page.locator(".list li button").nth(1).click()
    assert looked_at(page) == []
    page.click("form.new-class button[type=submit]")
    page.wait_for_selector(".matrix")
    link = page.locator(".links a").first.get_attribute("href")
    student = opened(link, width=390, ready=False)
    student.wait_for_selector("ol.list button")
    assert student.locator("header nav").count() == 0  # the other pages are not for a student
    student.click("ol.list button >> nth=0")
    student.fill("#say", "Do you have a fever?")
    student.press("#say", "Enter")
    wait_for_lines(student, 3)
    student.click(".actions button.main")
    student.fill("form.report input >> nth=0", "a cold")
    student.click("form.report button[type=submit]")
    student.wait_for_selector(".total .big")
    page.reload()
    page.click(".matrix a")
    page.fill("#comment", "Well asked.")
    page.click("form button")
    page.wait_for_selector(".notice:not([hidden])")
    assert looked_at(page) == []
    student.click("header.case a")
    student.wait_for_selector(".comment")
    assert "Well asked." in student.locator(".comment").inner_text() and looked_at(student) == []
    id = page.url.split("/class/")[1].split("/")[0]
    with urllib.request.urlopen(f"{served.at}/api/chair/classes/{id}/results.csv") as answer:
        rows = list(csv.DictReader(io.StringIO(answer.read().decode("utf-8-sig"))))
    assert [(row["student"], row["state"]) for row in rows][:2] == [("Ann", "done"), ("Ann", "new")]
    assert rows[0]["comment"] == "Well asked." and json.loads(rows[0]["points"]) >= 0


def test_a_shift_at_the_door_is_played_by_keyboard_alone(opened, served, looked_at):
    page = opened(f"{served.at}/chair", ready=False)
    page.wait_for_selector(".begin .nurse")
    tab_to(page, ".begin .nurse")
    page.keyboard.press("Enter")
    page.wait_for_selector("#question")
    page.keyboard.type("Are you short of breath?")
    page.keyboard.press("Enter")
    page.wait_for_selector("ul.points li")
    assert looked_at(page) == []
    for number in range(2, 10):
        tab_to(page, ".level")
        page.keyboard.press("3")
        page.wait_for_function(
            "told => document.querySelector('tbody th, main [role=status]').textContent.includes(told)",
            arg=f"Patient {number}" if number < 9 else ", ",
        )
    page.wait_for_selector("tbody th")
    assert page.locator("tbody tr").count() == 8 and looked_at(page) == []


def test_a_case_shows_its_pictures_and_says_which_it_cannot(opened, pages_of, tmp_path, looked_at):
    red = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    (tmp_path / "ring.png").write_bytes(red)
    (tmp_path / "none.png").write_text("no picture")
    rows = [
        {"image_url": "ring.png", "complaint": "first"},
        {"image_url": "https://pictures.example/ring.png", "complaint": "second"},
        {"image_url": "none.png", "complaint": "third"},
    ]
    lines = [
        {
            "image_url": row["image_url"],
            "question": "What is it?",
            "patient_info": f"A 33-year-old woman. A {row['complaint']} rash began a week ago on the arm and itches.",
            "physical_exams": "A ring of scales.",
            "answers": [{"text": "Tinea corporis", "correct": True}, {"text": "Eczema", "correct": False}],
            "type": "skin",
        }
        for row in rows
    ]
    file = tmp_path / "rashes.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    served = pages_of("serve", str(tmp_path), "--cases", str(file), "--port", "0")
    told = []
    for number in range(3):
        cases = json.load(urllib.request.urlopen(f"{served.at}/api/chair/cases?set=rashes"))["cases"]
        asked = urllib.request.Request(
            f"{served.at}/api/chair/visits",
            json.dumps({"set": "rashes", "key": cases[number]["key"]}).encode(),
            {"content-type": "application/json"},
        )
        visit = json.load(urllib.request.urlopen(asked))["id"]
        page = opened(f"{served.at}/chair#/visit/{visit}", ready=False)
        page.wait_for_selector("#say")
        if number == 0:
            page.wait_for_function("() => document.querySelector('.pictures img')?.naturalWidth === 1")
            assert page.locator(".pictures img").get_attribute("alt").startswith("Picture 1")
        else:
            page.wait_for_selector(".pictures p")
        told.append(page.locator(".pictures").inner_text())
        assert looked_at(page) == []
    assert "nothing is fetched" in told[1] and "cannot be shown here" in told[2]
    opened.complaints[:] = [one for one in opened.complaints if "422" not in one]

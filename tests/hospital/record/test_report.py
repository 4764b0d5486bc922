"""The report of a run: figures that agree with the log, and a page that is whole, alone and safe."""

import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from polyclinic.hospital.record.account import Account, account_of
from polyclinic.hospital.record.happenings import (
    DAY,
    Acuity,
    CalledIn,
    Diagnosed,
    FollowedUp,
    FollowUpOutcome,
    Happening,
    LeftUnseen,
    Prescribed,
    Queued,
    Registered,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
)
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.report import figures, page
from polyclinic.hospital.record.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(lived_run):
    with RecordedRun(lived_run) as recorded:
        return figures(recorded)


@pytest.fixture(scope="module")
def html(found):
    return page(found)


def tally(*events):
    return account_of(Happening(seq=seq, t=t, who=who, what=what) for seq, (t, who, what) in enumerate(events)).series()


def test_the_series_agree_with_the_log(lived, found):
    days, summary = found["series"]["days"], found["summary"]
    ends = Counter(type(h.what) for h in lived)
    assert sum(day["arrived"] for day in days) == summary["arrived"]
    assert sum(day["seen"] for day in days) == ends[WentHome] == summary["seen"]
    assert sum(day["left"] for day in days) == ends[LeftUnseen]
    assert sum(day["failed"] for day in days) == ends[VisitFailed] > 0
    told = [h for h in lived if isinstance(h.what, Diagnosed)]
    assert sum(s["n"] for s in found["series"]["diagnosis"].values()) == len(told) == summary["diagnosis"]["n"]
    assert sum(s["right"] for s in found["series"]["diagnosis"].values()) == summary["diagnosis"]["right"]
    for day in days:
        today = [h.what.right for h in told if h.t // DAY == day["day"] - 1]
        assert (day["diagnosis"]["n"], day["diagnosis"]["right"]) == (len(today), sum(today))
    over = sum(found["series"]["acuity"][r.value][g.value] for i, r in enumerate(Acuity) for g in list(Acuity)[:i])
    assert over == summary["over_triage"]["right"] > 0
    assert (found["seed"], found["run"], found["finished"]) == (11, "run-seven", True)
    with_hours = [hour for hour in found["series"]["hours"] if hour["waiting"] + hour["served"] + hour["other"]]
    assert with_hours
    assert all(hour["waiting"] + hour["served"] + hour["other"] <= hour["most"] for hour in found["series"]["hours"])


def test_people_are_counted_at_the_full_hour_and_not_on_their_way_from_home():
    def way(*path, begin):
        return Walked(path=path, times=tuple(begin + 600 * n for n in range(len(path))))

    hour = 3600
    series = tally(
        (hour - 100, "early", way("homes", "triage", begin=hour - 100)),  # on the way at 1
        (hour + 500, "early", Queued(queue="triage")),  # waits at 2
        (
            2 * hour + 1,
            "early",
            CalledIn(queue="triage", staff="n", area="triage", waited=1),
        ),  # with the nurse at 3 and 4
        (4 * hour + 1, "early", LeftUnseen(reason="closed")),
        (4 * hour + 1, "early", way("triage", "homes", begin=4 * hour + 1)),
        (
            3 * DAY,
            "late",
            FollowedUp(outcome=FollowUpOutcome.BETTER),
        ),  # days on which nobody was there do not thin the mean
    )
    shown = {h["hour"]: (h["waiting"], h["served"], h["other"], h["most"]) for h in series["hours"] if h["most"]}
    assert shown == {2: (1, 0, 0, 1), 3: (0, 1, 0, 1), 4: (0, 1, 0, 1)}
    assert len(series["days"]) == 1


def test_an_outcome_is_that_of_the_first_follow_up_by_treatment():
    def prescribed(right):
        return Prescribed(staff="d", plan="mild", treatment=("rest",), right=right)

    series = tally(
        *((0, who, Queued(queue="triage")) for who in "abc"),
        (1, "a", prescribed(True)),
        (2, "b", prescribed(False)),
        (3, "c", LeftUnseen(reason="closed")),
        (4, "a", FollowedUp(outcome=FollowUpOutcome.BETTER)),
        (5, "b", FollowedUp(outcome=FollowUpOutcome.WORSE)),
        (6, "c", FollowedUp(outcome=FollowUpOutcome.RECOVERED)),
        (7, "a", FollowedUp(outcome=FollowUpOutcome.RECOVERED)),  # told again: no second outcome
        (8, "b", FollowedUp(outcome=FollowUpOutcome.BETTER)),  # the illness went on at home, untreated
    )
    assert series["outcomes"] == {
        "right plan": {"recovered": 0, "better": 1, "worse": 0},
        "wrong plan": {"recovered": 0, "better": 0, "worse": 1},
        "untreated": {"recovered": 1, "better": 1, "worse": 0},
    }


def test_a_diagnosis_counts_for_the_department_that_made_it():
    triaged = Triaged(
        nurse="n",
        department="heart",
        acuity=Acuity.ROUTINE,
        right_department="skin",
        right_acuity=Acuity.URGENT,
    )
    series = tally(
        (0, "a", Queued(queue="triage")),
        (1, "a", triaged),
        (2, "a", Registered(department="heart", visit=1)),
        (3, "a", Registered(department="skin", visit=1)),
        (4, "a", Diagnosed(staff="d", diagnosis="eczema", right=True)),
    )
    assert {name: (s["right"], s["n"]) for name, s in series["diagnosis"].items()} == {"skin": (1, 1)}
    assert series["acuity"]["urgent"] == {"emergency": 0, "urgent": 0, "routine": 1}


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links = Counter(), Counter(), []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids[value] += 1
            if name in ("src", "href", "xlink:href", "srcset", "data"):
                self.links.append(value)
            assert not name.startswith("on"), (tag, name)


def test_the_page_is_one_file_without_scripts_or_links(html):
    parsed = _Page()
    parsed.feed(html)
    assert parsed.tags["svg"] == parsed.tags["figure"] == 5
    assert not {"script", "img", "link", "iframe", "object", "image"} & set(parsed.tags)
    assert all(link.startswith("#") for link in parsed.links)
    assert not re.search(r"@import|url\((?!#)", html)
    assert not parsed.ids
    for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ElementTree.fromstring(svg)


def test_no_table_makes_the_page_wider_than_the_window(html):
    assert html.count("<table>") == html.count('<div class="wide"><table>') > 5
    assert ".wide { overflow-x: auto; }" in html


def test_every_figure_has_a_title_axes_and_says_what_it_was_made_from(html, found):
    pictures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    for picture in pictures:
        assert re.search(r"<h3>[^<]+</h3>", picture)
        assert f"Run run-seven, seed 11, {found['summary']['arrived']} visits." in picture
    words = re.sub(r"<[^>]+>", " ", html)
    for axis in ("hour of the day", "% right, with 95 % interval", "as the nurse judged"):
        assert axis in words
    assert re.search(
        rf"right diagnosis .* {found['summary']['diagnosis']['right']}\s+{found['summary']['diagnosis']['n']}\s", words
    )
    assert found["log_hash"] in words
    for part in ("acuity, as the nurse judged it first", "department, where", "hour at which they arrived", "disease"):
        assert part in words
    disease, came = max(found["groups"]["by_disease"].items(), key=lambda item: item[1]["visits"])
    assert re.search(rf"{disease}\s+{came['visits']}\s", words)


def test_the_same_run_gives_the_same_page(html, found):
    assert page(found) == html


def test_names_come_from_the_hospital_and_nothing_that_anybody_wrote_is_markup(found):
    evil = '<script>alert("$x^2$")</script> & Söhne 内科'
    department = next(iter(found["summary"]["waits"]))
    staff = next(iter(found["summary"]["work"]))
    hospital = {
        "departments": {department: {"en": evil}},
        "staff": {staff: {"name": {"en": "Dr $\\frac{1}{2}$ <b>"}}},
        "areas": {"triage": {"name": {"en": "where <i>all</i> begin"}}},
    }
    html = page(found | {"run": "<b>${title}</b>"}, configuration={"hospital": hospital})
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert" in html
    assert "&lt;b&gt;${title}&lt;/b&gt;" in html
    assert "Dr $\\frac{1}{2}$ &lt;b&gt;" in html
    assert "$x^2$" in html
    assert "where &lt;i&gt;all&lt;/i&gt; begin" in html
    for strange in ({"hospital": "no"}, {"hospital": {"staff": [1], "departments": {department: 3}}}):
        assert "<figure>" in page(found, configuration=strange)


def test_a_run_that_goes_on_says_so_and_one_without_visits_has_no_pictures(lived, tmp_path):
    with Store.create(tmp_path / "run", {}) as store:
        store.flush()
        with RecordedRun(tmp_path / "run") as recorded:
            html = page(figures(recorded))
            assert "Nobody has come" in html
            assert "<svg" not in html
        account = Account()
        for happening in lived[:3000]:
            account.add(happening)
            store.add(happening, account)
        store.flush()
        with RecordedRun(tmp_path / "run") as recorded:
            early = figures(recorded)
            assert (early["happenings"], early["finished"], early["seed"]) == (3000, False, None)
            assert "not come to its end" in page(early)


def test_any_beginning_of_a_run_can_be_shown(lived, tmp_path):
    with Store.create(tmp_path / "run", {}) as store:
        done, account = 0, Account()
        for n in (1, 40, 900):
            for happening in lived[done:n]:
                account.add(happening)
                store.add(happening, account)
            done = n
            store.flush()
            with RecordedRun(tmp_path / "run") as recorded:
                assert "</html>" in page(figures(recorded))

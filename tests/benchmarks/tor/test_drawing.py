"""Meetings drawn: what was new and dropped in each round, where evidence stands, and what was chosen."""

import re
from html.parser import HTMLParser

import msgspec
import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.errors import BadInput
from polyclinic.evaluations.tor.meetings import RecordedMeeting, grown, holds_meetings, read_meetings, stages
from polyclinic.evaluations.tor.page import page
from polyclinic.evidence_tree.meeting import Concluded, Remark, Wrote
from polyclinic.evidence_tree.tree import EvidenceTree, Reasoning, Suspected
from polyclinic.knowledge.knowledge import read_knowledge

KNOWLEDGE = read_knowledge()


def tree(**diagnoses):
    return EvidenceTree(
        tuple(Suspected(name, (Reasoning(f"So {name}.", tuple(texts)),)) for name, texts in diagnoses.items())
    )


RECORD = Record(
    presentation=Presentation(complaint="Tired & <pale>", age=58, sex="female"),
    history=History(present="Short of breath. Denies fever."),
    findings=(Finding(examination="blood test", item="hemoglobin", value=84.0, unit="g/L", reference="115-175"),),
)
MEETING = RecordedMeeting(
    id="7",
    record=RECORD,
    options={"A": "Anaemia", "B": "Gout", "C": "Cyst"},
    key=frozenset("AC"),
    log=(
        Wrote(by="outpatient", round=0, opinion=tree(Anaemia=["Tired"], Gout=["a red toe"])),
        Wrote(by="laboratory", round=0, opinion=tree(Anaemia=["hemoglobin 84 g/L"])),
        Remark(by="laboratory", to="outpatient", round=1, turn=1, text="It is <low>."),
        Wrote(by="outpatient", round=1, opinion=tree(Anaemia=["Tired", "Short of breath"])),
        Concluded(opinion=tree(Anaemia=["Tired", "hemoglobin 84 g/L", "fever"]), answers=frozenset("AB")),
    ),
    chose={"tree_of_reasoning": frozenset("AB"), "zero_shot": frozenset("C")},
)


def changes(diagnoses):
    return {
        (d.diagnosis, leaf.evidence): change for d in diagnoses for r in d.reasonings for leaf, change in r.evidence
    }


def test_each_opinion_stands_beside_the_doctor_s_own_before():
    first, laboratory, second, head = stages(MEETING)
    assert set(changes(first.diagnoses).values()) == {"kept"}
    assert (laboratory.by, laboratory.round, laboratory.heard) == ("laboratory", 0, ())
    assert [one.text for one in second.heard] == ["It is <low>."]
    assert changes(second.diagnoses) == {
        ("Anaemia", "Tired"): "kept",
        ("Anaemia", "Short of breath"): "new",
        ("Gout", "a red toe"): "dropped",
    }
    assert [d.change for d in second.diagnoses] == ["kept", "dropped"]
    assert changes(head.diagnoses)["Anaemia", "fever"] == "new"
    assert changes(head.diagnoses)["Anaemia", "Short of breath"] == "dropped"


def test_a_reasoning_in_other_words_is_no_change():
    before, now = tree(Gout=["a red toe"]), EvidenceTree((Suspected("gout", (Reasoning("Anew.", ("A red toe.",)),)),))
    assert set(changes(grown(list(before.leaves()), list(now.leaves()))).values()) == {"kept"}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing():
    text = page([MEETING], KNOWLEDGE, title="Of <one>")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert not any(tag in ("script", "link", "img") for tag, _ in tags.seen)
    assert "http" not in text
    assert "<low>" not in text and "<pale>" not in text and "Of <one>" not in text


def test_evidence_marks_its_place_in_the_record():
    text = page([MEETING], KNOWLEDGE, title="x")
    supported = [a["class"].split()[-1] for tag, a in tags_of(text) if "leaf" in a.get("class", "") and "tabindex" in a]
    assert len(set(supported)) == 4  # Tired, hemoglobin, Short of breath, and the fever that is denied
    for name in set(supported):
        assert f".{name}:is(:hover,:focus)) .at-{name}" in text
        (place,) = set(re.findall(rf'<span class="used [^"]*\bat-{name}\b[^"]*">([^<]*)</span>', text))
        assert place
    assert "not in the record" in text
    assert "contradicted by the record" in text


def tags_of(text):
    tags = Tags()
    tags.feed(text)
    return tags.seen


def test_what_each_method_chose_is_right_wrong_or_missed():
    text = page([MEETING], KNOWLEDGE, title="x")
    cells = '<td class="right">Anaemia</td><td class="wrong">Gout</td><td class="missed">Cyst</td>'
    assert f"<th>tree_of_reasoning</th>{cells}" in text
    assert '<th>zero_shot</th><td class="right">Cyst</td><td class="wrong"></td><td class="missed">Anaemia</td>' in text


def test_the_page_says_what_the_head_took_over_and_what_was_dropped():
    text = page([MEETING], KNOWLEDGE, title="x")
    head = text[text.index("head, concludes") :]
    assert "− dropped: Gout (by the outpatient doctor in round 1)" in head
    assert "− Short of breath</span> <small>since round 1</small>" in head
    assert ">Tired</span></li>" in head and ">+ fever</span>" in head
    plain = RecordedMeeting(
        id="8",
        record=RECORD,
        options={},
        key=frozenset(),
        log=(Wrote(by="outpatient", round=0, opinion="Plain."),),
        chose={},
    )
    assert "Plain." in page([plain], KNOWLEDGE, title="x")


def test_what_is_no_file_of_meetings_is_told_apart(tmp_path):
    path = tmp_path / "x.jsonl"
    assert not holds_meetings(path)
    for text in ("", "not json\n", '{"kind": "opened"}\n', "[1]\n"):
        path.write_text(text)
        assert not holds_meetings(path)
    path.write_text('{"log": 1, "chose": 2, "record": 3}\n')
    assert holds_meetings(path)
    with pytest.raises(BadInput, match="line 1"):
        read_meetings(path)


@pytest.mark.slow
def test_replay_draws_prints_and_writes(run, complaint, tmp_path):
    run("eval", "tor", "--cases", "inpatients", "--limit", "2", "--doctor", "rules", "--out", "o", cwd=tmp_path)
    file = "o/tree_of_reasoning.meetings.jsonl"
    shown = run("replay", file, "--visit", "2", cwd=tmp_path).stdout
    assert "outpatient, first" in shown and "head, concludes" in shown
    assert "├──" in shown and "✓ $." in shown
    assert "what was chosen" in shown
    assert "record 1" not in shown
    run("replay", file, "--out", "p.html", cwd=tmp_path)
    assert "<h2>Record 2</h2>" in (tmp_path / "p.html").read_text("utf-8")
    assert "--out FILE.html" in complaint("replay", file, "--out", "t.svg", cwd=tmp_path)
    assert "exists" in complaint("replay", file, "--out", "p.html", cwd=tmp_path)
    assert "no meeting on record" in complaint("replay", file, "--visit", "99", cwd=tmp_path)
    (tmp_path / "trace.jsonl").write_text("{}\n")
    assert "--out is for meetings" in complaint("replay", "trace.jsonl", "--out", "q.html", cwd=tmp_path)
    assert '"log"' in run("replay", file, "--json", cwd=tmp_path).stdout


def test_control_characters_are_signs_and_never_raw():
    bad = "a\x00b\x1b[31mc\x7fd\u202ee\ufffff\x85"
    meeting = msgspec.structs.replace(
        MEETING,
        id=f"7{bad}",
        record=Record(presentation=Presentation(complaint=f"Tired {bad}"), history=History(present=f"Pale {bad}.")),
        options={"A": f"Anaemia {bad}"},
        log=(
            Wrote(by="outpatient", round=0, opinion=tree(**{f"Anaemia {bad}": [f"Tired {bad}", "Tired"]})),
            Remark(by="laboratory", to="outpatient", round=1, turn=1, text=bad),
            Concluded(opinion=tree(**{f"Anaemia {bad}": [f"Tired {bad}", "Pale"]}), answers=frozenset("A")),
        ),
        chose={bad: frozenset("A")},
    )
    text = page([meeting], KNOWLEDGE, title=bad)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\uffff]", text)
    assert "a\u2400b\u241b[31mc\u2421d\ufffde\ufffdf\ufffd" in text


def test_on_a_narrow_screen_the_page_is_one_column_with_the_record_in_sight():
    text = page([MEETING], KNOWLEDGE, title="x")
    narrow = text[text.index("@media (max-width") : text.index("@media print")]
    assert ".sides { display: block; }" in narrow
    assert re.search(r"\.record {[^}]*bottom: 0;[^}]*max-height: 40vh", narrow)


def test_a_reasoning_that_weighs_otherwise_is_drawn_once():
    def weighed(weight, *evidence):
        return EvidenceTree((Suspected("Gout", (Reasoning(f"It speaks for it ({weight}).", evidence),)),))

    before, now = weighed("+9.4", "a red toe", "old age"), weighed("+7.9", "a red toe")
    ((reasoning,),) = [one.reasonings for one in grown(list(before.leaves()), list(now.leaves()))]
    assert reasoning.analysis == "It speaks for it (+7.9)."
    assert [(leaf.evidence, change) for leaf, change in reasoning.evidence] == [
        ("a red toe", "kept"), ("old age", "dropped"),
    ]  # fmt: skip

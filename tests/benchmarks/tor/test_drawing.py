"""Meetings drawn: what was new and dropped in each round, where evidence stands, and what was chosen."""

import pytest

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.errors import BadInput
from polyclinic.evaluations.tor.meetings import RecordedMeeting, grown, holds_meetings, read_meetings, stages
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
def test_replay_prints_meetings(run, complaint, tmp_path):
    run("eval", "tor", "--cases", "inpatients", "--limit", "2", "--doctor", "rules", "--out", "o", cwd=tmp_path)
    file = "o/tree_of_reasoning.meetings.jsonl"
    shown = run("replay", file, "--visit", "2", cwd=tmp_path).stdout
    assert "outpatient, first" in shown and "head, concludes" in shown
    assert "├──" in shown and "✓ $." in shown
    assert "what was chosen" in shown
    assert "record 1" not in shown
    assert "report DIR --format site" in complaint("replay", file, "--out", "p.html", cwd=tmp_path)
    assert "no meeting on record" in complaint("replay", file, "--visit", "99", cwd=tmp_path)
    assert '"log"' in run("replay", file, "--json", cwd=tmp_path).stdout


def test_a_reasoning_that_weighs_otherwise_is_drawn_once():
    def weighed(weight, *evidence):
        return EvidenceTree((Suspected("Gout", (Reasoning(f"It speaks for it ({weight}).", evidence),)),))

    before, now = weighed("+9.4", "a red toe", "old age"), weighed("+7.9", "a red toe")
    ((reasoning,),) = [one.reasonings for one in grown(list(before.leaves()), list(now.leaves()))]
    assert reasoning.analysis == "It speaks for it (+7.9)."
    assert [(leaf.evidence, change) for leaf, change in reasoning.evidence] == [
        ("a red toe", "kept"), ("old age", "dropped"),
    ]  # fmt: skip

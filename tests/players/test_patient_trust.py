"""How far a patient is to be trusted is said of a model who meets the rules, and of nobody else."""

from pathlib import Path

from tests.tables import each_row

from polyclinic.players.patient_trust import trust_fields, trust_in


@each_row(
    ("doctors", "patient", "said"),
    [
        (["direct/a"], "rules", True),
        (["rules", "openai/gpt-4o"], "rules", True),
        (["local"], "rules", True),
        (["rules"], "rules", False),
        (["scripted:file.json"], "rules", False),
        (["direct/a"], "saps:direct/b", False),
        (["direct/a"], "direct/b", False),
        (["direct/a"], ["Yes."], False),
    ],
)
def test_of_whom_it_is_said(doctors, patient, said):
    trust = trust_in(patient, doctors)
    assert (trust is not None) == said
    assert ("patient_trust" in trust_fields(trust)) == said


TRUST = trust_in("rules", ["direct/a"])


def test_the_line_is_short_and_holds_the_figure_and_where_more_stands():
    for part in (f"{TRUST.agreement:g} %", f"{TRUST.constant:g} %", f"{TRUST.turns:,}", TRUST.of, "docs/patients.md"):
        assert part in TRUST.line
    assert "\n" not in TRUST.line
    assert len(TRUST.line) < 200


def test_the_fields_say_what_the_figure_is_beside():
    fields = trust_fields(TRUST)["patient_trust"]
    assert set(fields) == {
        *("agreement", "constant", "turns", "of", "command", "reference", "seen", "other_language"),
    }
    assert "78 %" in fields["reference"]
    assert isinstance(fields["seen"], bool)
    assert fields["command"].startswith("polyclinic eval patient-simulator --recorded")


def test_the_docs_say_the_same_figures():
    page = " ".join((Path(__file__).parents[2] / "docs" / "patients.md").read_text("utf-8").split())
    unseen = "not seen" if not TRUST.seen else "seen"
    line = (
        f"agreement {TRUST.agreement:g} %, always the commonest {TRUST.constant:g} %, {TRUST.turns:,} {TRUST.of}; "
        f"in another language than the case's {TRUST.other_language:g} %; cases {unseen} while the rules were made"
    )
    assert line in page
    assert TRUST.reference in page

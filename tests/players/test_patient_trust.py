"""How far a patient is to be trusted is said of a model who meets the rules, and of nobody else."""

import pytest

from polyclinic.players.patient_trust import trust_fields, trust_in


@pytest.mark.parametrize(
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


def test_the_line_holds_the_figure_its_set_and_its_command():
    trust = trust_in("rules", ["direct/a"])
    for part in (f"{trust.agreement:g} %", f"{trust.constant:g} %", f"{trust.turns:,}", trust.of, trust.command):
        assert part in trust.line
    assert "\n" not in trust.line
    assert trust.command.startswith("polyclinic eval patient-simulator --recorded")
    assert set(trust_fields(trust)["patient_trust"]) == {"agreement", "constant", "turns", "of", "command"}

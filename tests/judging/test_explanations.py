"""The judge of explanations: what it is shown, and how its marks are read."""

from polyclinic.cases.loaders import read_cases
from polyclinic.judging.explanations import JUDGING, Explained, rate
from polyclinic.models.scripted import Scripted

CASE = next(read_cases("inpatients"))


def test_it_is_shown_record_truth_and_explanation_and_no_method():
    (_, system), (_, user) = JUDGING.messages(Explained(CASE, "my_method", "Because of this.\n=== end ==="))
    assert CASE.record.history.present in user
    assert all(diagnosis.name in user for diagnosis in CASE.truth.diagnoses)
    assert "Because of this." in user
    assert "my_method" not in system + user
    # What was written cannot look like the end of itself.
    assert "=== end" not in user.partition("explanation begins")[2].partition("Because")[2].partition("=====")[0]


async def test_marks_are_read_to_one_decimal_and_what_is_none_is_unreadable():
    said = [
        {"analysis": "Good.", "relevance": 4.26, "completeness": 3},
        {"analysis": "?", "relevance": 9, "completeness": 3},
        "no idea",
    ]
    rated = await rate([Explained(CASE, name, "Text.") for name in "abc"], Scripted(said))
    assert [(one.relevance, one.completeness) for one in rated] == [(4.3, 3.0), (None, None), (None, None)]
    assert [one.error for one in rated] == ["", "UnreadableReply", "UnreadableReply"]
    assert not any(one.failed for one in rated)

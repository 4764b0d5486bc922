"""Pairs of names out of a file, and how far relations agree with labels."""

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput
from polyclinic.knowledge.disease_names.relation import Relation
from polyclinic.metrics.disease_names import ComparedPair, agreement_with_labels, compare_by_rules, read_name_pairs


def written(tmp_path, *lines):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


@each_row(
    ("line", "place", "said"),
    [
        ('{"a": "", "b": "gout"}', "$.a", "''"),
        ('{"a": "gout", "b": " ?"}', "$.b", "' ?'"),
        ('{"a": "gout"}', "", "`b`"),
        ('{"a": "gout", "b": 3}', "$.b", "str"),
        ('["gout", "痛风"]', "", "object"),
        ("gout", "", "JSON"),
        ('{"a": "gout", "b": "x", "relation": "equal"}', "$.relation", "same, narrower, broader, different"),
    ],
)
def test_what_is_no_pair_is_named_with_its_place(tmp_path, line, place, said):
    path = written(tmp_path, '{"a": "gout", "b": "痛风"}', line)
    with pytest.raises(BadInput) as caught:
        read_name_pairs(path)
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 2, place)
    assert said in str(caught.value)


def test_labels_may_have_a_second_answer(tmp_path):
    path = written(
        tmp_path,
        '{"a": "gout", "b": "痛风", "relation": "same", "why": "translation"}',
        '{"a": "gout", "b": "arthritis", "relation": "same", "also": ["narrower"]}',
        '{"a": "gout", "b": "acne", "relation": "same"}',
        '{"a": "gout", "b": "mumps"}',
    )
    compared = compare_by_rules(read_name_pairs(path))
    assert [one.relation for one in compared] == ["same", "narrower", "different", "different"]
    assert [one.agrees for one in compared] == [True, True, False, False]
    agreed = agreement_with_labels(compared)
    assert (agreed.n, round(agreed.percent)) == (3, 67)
    assert agreement_with_labels(compared[3:]) is None


def test_what_a_judge_could_not_say_disagrees_and_what_did_not_come_is_not_counted():
    said = {"a": "gout", "b": "acne", "labels": (Relation.DIFFERENT,)}
    compared = [
        ComparedPair(**said, relation=Relation.DIFFERENT),
        ComparedPair(**said, relation=None, error="UnreadableReply"),
        ComparedPair(**said, relation=None, error="TimedOut", failed=True),
    ]
    agreed = agreement_with_labels(compared)
    assert (agreed.n, agreed.percent) == (2, 50)

"""What a doctor learns of likeness: from its own cases alone, and the same however often it looks."""

import numpy as np
import pytest

from polyclinic.memory.entries import AskedTask, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary
from polyclinic.memory.recall import LearntLikeness, TurnedOut

LABELS = ("x", "y", "z")


def asked(number, *said):
    return AskedTask(case=f"c{number}", number=number, query="\n".join(said), options=LABELS)


def libraries(entries):
    made = MemoryLibrary(2), MemoryLibrary(2)
    for entry in entries:
        made[isinstance(entry, Experience)].add(entry, np.array([1, 0], "f4"))
    return made


def record(number, answer, *said):
    return MedicalRecord(asked=asked(number, *said), answer=answer)


def lesson(number, right, *said):
    return Experience(asked=asked(number, *said), before="?", after=right[0], right=right, principle="p")


def learnt(entries, turned_out=None, group="", **how):
    likeness = LearntLikeness(*libraries(entries), LABELS, group, **how)
    likeness.learn(turned_out or {})
    return likeness


def test_what_says_the_same_is_alike_and_what_nobody_said_says_nothing():
    some = [record(n, "x", "feverish") for n in range(5)] + [record(5 + n, "x", "a temperature") for n in range(5)]
    others = [record(10 + n, "y", "itchy") for n in range(10)]
    likeness = learnt(some + others)
    feverish, hot, itchy, new = (likeness.kinds(one) for one in ("feverish", "a temperature", "itchy", "unheard of"))
    assert feverish @ hot > 2 * (feverish @ itchy)
    assert new == pytest.approx([0.5, 0.5])
    said, known = likeness.kinds_of([0, 15], [])
    assert known.tolist() == [[1, 0], [0, 1]]
    assert said[0] == pytest.approx(feverish)


def test_a_case_of_which_one_right_answer_is_known_is_of_any_kind_that_it_fits():
    lessons = [lesson(n, ("x", "y"), "a") for n in range(4)] + [lesson(4 + n, ("y", "z"), "b") for n in range(4)]
    likeness = learnt([*lessons, record(9, "y", "a"), record(10, "x", "b")])
    assert likeness.fits.T.tolist() == [[1, 1, 0], [0, 1, 1]]
    _, known = likeness.kinds_of([0, 1], [])
    assert known[0, 0] > 0.8
    assert known[1] == pytest.approx([1, 0])


def test_it_is_the_same_learnt_at_once_or_bit_by_bit():
    rng = np.random.default_rng(1)
    entries = []
    for n in range(60):
        said = [f"s{k}" for k in rng.choice(9, 3, replace=False)]
        right = LABELS[n % 3]
        entries.append(record(n, right, *said) if n % 2 else lesson(n, (right, "y"), *said))
    whole = learnt(entries, {"c7": "known"}, trust=0.5, silence=0.5)
    growing = libraries([])
    bits = LearntLikeness(*growing, LABELS, trust=0.5, silence=0.5)
    for entry in entries:
        growing[isinstance(entry, Experience)].add(entry, np.array([1, 0], "f4"))
        bits.learn({"c7": "known"})
    assert whole.kinds("s1\ns2").tolist() == bits.kinds("s1\ns2").tolist()
    for a, b in zip(whole.kinds_of(range(30), range(30)), bits.kinds_of(range(30), range(30)), strict=True):
        assert a.tolist() == b.tolist()


def test_what_is_not_said_speaks_where_it_may():
    entries = [record(n, "x", "a", "b") for n in range(9)] + [record(10 + n, "y", "a") for n in range(9)]
    deaf, listening = learnt(entries), learnt(entries, silence=1.0)
    assert deaf.kinds("a") == pytest.approx([0.5, 0.5])
    assert listening.kinds("a")[1] > 0.8
    assert listening.kinds("a\nb")[0] > 0.8


def test_many_who_ask_get_what_one_gets():
    entries = [record(n, LABELS[n % 3], f"s{n % 4}", *(f"t{k}" for k in range(n % 11))) for n in range(40)]
    one, many = learnt(entries), learnt(entries)
    first = one.kinds_of([3, 30, 7], [])
    for _ in range(30):  # by now it is worked out for all at once
        last = many.kinds_of([3, 30, 7], [])
    assert [part.tolist() for part in first] == [part.tolist() for part in last]


def test_only_cases_of_the_group_count():
    entries = [record(1, "x", "a", "Diagnosis: flu"), record(2, "y", "a", "Diagnosis: cold")]
    likeness = learnt(entries, group="Diagnosis: flu")
    said, known = likeness.kinds_of([0, 1], [])
    assert (said[1].any(), known.tolist()) == (False, [[1], [0]])


def test_who_turned_out_to_have_the_same_is_of_one_kind():
    turned_out = TurnedOut(*libraries([record(1, "flu"), lesson(2, ("flu",))]))
    assert turned_out.learn() == turned_out.learn() == {"c1": "flu", "c2": "flu"}
    assert TurnedOut(None, None).learn() == {}
    likeness = learnt([record(1, "x", "a"), lesson(2, ("x", "z"), "b")], turned_out.of_case)
    assert likeness.kinds("a").tolist() == [1]
    assert likeness.fits.T.tolist() == [[1, 0, 1]]

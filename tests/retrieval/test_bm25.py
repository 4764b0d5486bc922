"""BM25 scores are those of a brute force; the index is added to and deleted from while it is searched."""

import json
import math
import shutil
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.errors import BadInput
from polyclinic.retrieval.bm25 import WordIndex, terms

WORDS = st.sampled_from("fever cough rash pain joints the of a wheezing acute 发热 咳嗽 肺炎 ALL b12".split())
TEXTS = st.lists(WORDS, max_size=120).map(" ".join)
PASSAGES = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)


def kept(length):
    """A length as tantivy keeps it: as it is up to 40, then rounded down to steps that double every eight of them."""
    bounds, step = list(range(41)), 2
    while bounds[-1] <= length:
        bounds += [bounds[-1] + step * n for n in range(1, 9)]
        step *= 2
    return max(bound for bound in bounds if bound <= length)


def brute_force(passages, query):
    """The formula of `bm25`, in ten lines."""
    scores = Counter()
    for field in (0, 1):
        counts = {n: Counter(terms(passage[field])) for n, passage in passages.items()}
        mean = sum(c.total() for c in counts.values()) / len(counts) or 1
        for word in set(terms(query)):
            holders = sum(word in c for c in counts.values())
            rarity = math.log(1 + (len(counts) - holders + 0.5) / (holders + 0.5))
            for n, c in counts.items():
                scores[n] += rarity * c[word] * 2.2 / (c[word] + 1.2 * (0.25 + 0.75 * kept(c.total()) / mean))
    return +scores


@pytest.mark.slow
@settings(max_examples=30)
@given(PASSAGES, TEXTS, st.integers(1, 6))
def test_scores_are_those_of_a_brute_force(passages, query, k):
    numbered = dict(enumerate(passages))
    with tempfile.TemporaryDirectory() as folder:
        index = WordIndex(Path(folder) / "words")
        for some in (list(numbered.items())[::2], list(numbered.items())[1::2]):  # in two segments
            index.update([(n, *passage) for n, passage in some])
        found, expected = index.search(query, k), brute_force(numbered, query)
        index.close()
    assert len(found) == min(k, len(expected))
    for number, score in found:
        assert score == pytest.approx(expected[number], abs=2e-4, rel=1e-5)
    assert all(one[1] > other[1] or (one[1] == other[1] and one[0] < other[0]) for one, other in pairwise(found))
    left_out = set(expected) - {number for number, _ in found}
    assert all(expected[number] <= found[-1][1] + 2e-4 for number in left_out)


def test_of_equals_the_lower_number_comes_first_however_many_there_are():
    index = WordIndex()
    index.update([(n, "", "fever") for n in range(500, 0, -1)])
    assert [n for n, _ in index.search("fever", 3)] == [1, 2, 3]


def test_what_is_put_and_forgotten_is_seen_at_once():
    index = WordIndex()
    index.update([(1, "Gout", "uric acid"), (2, "Asthma", "wheezing")])
    assert [n for n, _ in index.search("joints acid gout", 9)] == [1]
    index.update([(2, "Asthma", "wheezing and acid")], forget=[1, 2])
    assert [n for n, _ in index.search("acid", 9)] == [2]
    assert len(index) == 1


def test_words_are_stemmed_folded_and_cut():
    assert terms("The joints' Ménière") == ["the", "joint", "menier"]
    assert terms("COVID-19 at 38.5°") == ["covid", "19", "at", "38", "5"]
    assert "抗生素" in terms("需要抗生素治疗") and "治疗" in terms("需要抗生素治疗")


@each_row("query", ["", "  ", '?!"', "title:wheeze AND (", "x" * 100, "ab\x00cd", "-1 OR *"])
def test_a_query_is_words_and_nothing_else(query):
    index = WordIndex()
    index.update([(1, "Gout", "a joint")])
    assert index.search(query, 3) == []


def test_a_second_writer_is_told_to_wait(tmp_path):
    one, other = WordIndex(tmp_path / "words"), WordIndex(tmp_path / "words")
    one.update([(1, "a", "b")])
    with pytest.raises(BadInput, match="another process is adding"):
        other.update([(2, "a", "b")], patience=0.1)
    one.close()
    other.update([(2, "a", "b")])
    assert len(other) == 2
    other.close()


def test_an_index_on_which_its_library_panics_is_damaged(tmp_path):
    made = WordIndex(tmp_path / "words")
    made.update([(n, "gout", f"told {n}") for n in range(20)])
    made.close()
    for path in (tmp_path / "words").glob("*.store"):
        path.write_bytes(path.read_bytes()[:7])
    with pytest.raises(BadInput, match="cannot be used as an index of words"):
        WordIndex(tmp_path / "words")


def test_what_a_killed_process_left_is_swept_away(tmp_path):
    """A file of deletions that was being written has the name that the next deletion gives its own."""
    passages = [(n, "", f"word{n}") for n in range(10)]
    index = WordIndex(tmp_path / "killed")
    index.update(passages)
    index.close()
    shutil.copytree(tmp_path / "killed", tmp_path / "next")
    index = WordIndex(tmp_path / "next")
    index.update([], [3])
    index.close()
    (left,) = {path.name for path in (tmp_path / "next").glob("*.del")}
    (tmp_path / "killed" / left).write_bytes(b"half of i")
    managed = tmp_path / "killed" / ".managed.json"
    managed.write_text(json.dumps([*json.loads(managed.read_text()), left]))
    index = WordIndex(tmp_path / "killed")
    index.update([], [3])
    assert len(index) == 9 and not index.search("word3", 1)

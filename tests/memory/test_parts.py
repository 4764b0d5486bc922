"""A query that is known in parts is compared as if it were not."""

import numpy as np
import pytest

from polyclinic.memory import library as parts
from polyclinic.memory.library import CaseWordsEmbedder, CountedVectors, counted_lines, counts_of, part_of, sum_of

DIMENSIONS = 16


@pytest.mark.parametrize("kept", [5, 1024])
def test_the_cosines_are_those_of_the_whole(monkeypatch, kept):
    monkeypatch.setattr(parts, "_KEPT", kept)
    rng = np.random.default_rng(kept)
    places = [rng.choice(DIMENSIONS, 3, replace=False) for _ in range(90)]
    lines = [part_of(str(n), of_it, rng.choice([-2, -1, 1], 3)) for n, of_it in enumerate(places)]
    drawn = [[lines[n] for n in rng.choice(90, 4, replace=False)] for _ in range(400)]
    vectors = CountedVectors(DIMENSIONS)
    for n, some in enumerate(drawn):
        query = sum_of(some)
        assert np.array_equal(vectors.cosines(query), vectors.cosines(query._replace(parts=())))
        vectors.add(query)
        if n in (70, 300):  # as it was then, whatever came since
            was = CountedVectors.of([(vectors, n)], DIMENSIONS)
            for one in map(sum_of, drawn[:40]):
                assert np.array_equal(was.cosines(one), vectors.cosines(one._replace(parts=()))[:n])


def test_what_goes_beyond_a_byte_is_right_too():
    vectors = CountedVectors(2)
    heavy = part_of("heavy", np.array([0, 1]), np.array([9, 9]))
    for _ in range(3):
        vectors.add(sum_of([heavy]))
        assert vectors.cosines(sum_of([heavy])) == pytest.approx(1.0)
    assert sum_of([part_of("more", np.array([0]), np.array([128]))]) is None


def test_the_lines_of_a_text_are_its_vector():
    text = "a wet cough\n\n  white blood cell count: 12 (high)\na wet cough"
    whole, vector = counted_lines(text), CaseWordsEmbedder().vectors([text])[0]
    expected = counts_of(vector)
    assert np.array_equal(whole.places, expected.places)
    assert whole.numbers / whole.length == pytest.approx(expected.numbers / expected.length)
    assert [part.name for part in whole.parts] == ["a wet cough", "white blood cell count: 12 (high)", "a wet cough"]
    assert counted_lines(" \n") is None

"""What is found again: the nearest by cosine, exactly, and of equals what came first."""

import numpy as np
import pytest

from polyclinic.memory.entries import AskedTask, MedicalRecord
from polyclinic.memory.library import MemoryLibrary


def record(n):
    return MedicalRecord(asked=AskedTask(case=f"c{n}", number=n, query="", options=()), answer=str(n))


def unit(rows):
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("n", [1, 7, 1025, 2600])
def test_the_nearest_are_those_of_a_brute_force(n):
    rng = np.random.default_rng(n)
    vectors, queries = unit(rng.normal(size=(n, 8))), unit(rng.normal(size=(5, 8)))
    library = MemoryLibrary(8)
    for number, vector in enumerate(vectors):
        library.add(record(number), vector)
    for query in queries:
        near = library.nearest(query, 6)
        brute = sorted(range(n), key=lambda one: (-round(float(vectors[one] @ query), 6), one))[:6]
        assert near.places.tolist() == brute
        assert [one.asked.number for one in (library.entries[place] for place in near.places)] == brute


def test_of_equals_the_first_come_first():
    library = MemoryLibrary(2)
    for number in range(30):
        library.add(record(number), np.array([1, 0], dtype=np.float32))
    near = library.nearest(unit([[1, 1]])[0], 4)
    assert near.places.tolist() == [0, 1, 2, 3]


def test_whole_numbers_over_their_length_are_compared_exactly_also_beyond_a_byte_and_where_some_are_not_whole():
    rng = np.random.default_rng(1)
    for most, n in ((2, 700), (90, 40)):  # the sums of the second go beyond a byte
        whole = rng.integers(-most, most + 1, (n, 16)) * (rng.random((n, 16)) < 0.4)
        vectors = whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1)
        library, then = MemoryLibrary(16), vectors[: n - 1]
        for number, vector in enumerate(vectors.astype("f4")):
            library.add(record(number), vector)
        for query in library.vectors[:5]:
            exact = np.round((vectors @ query.astype(float)).astype("f4"), 6)
            near = library.nearest(query, n)
            assert near.cosines == pytest.approx(exact[near.places], abs=2e-6)
            assert near.places[0] == int(np.argmax(exact))
            was = library.as_it_was(n - 1).nearest(query, 3)
            joined = library.as_it_was(n - 1, after=library).nearest(query, 6)
            assert was.cosines == pytest.approx(np.sort(np.round(then @ query, 6))[::-1][:3], abs=2e-6)
            assert len(joined.places) == min(6, 2 * n - 1)
        library.add(record(n), unit([[0.3, 0.1234567, *[0.2] * 14]])[0])
        mixed = library.nearest(library.vectors[0], n)
        assert mixed.cosines == pytest.approx(np.sort(library.vectors @ library.vectors[0])[::-1][:n], abs=2e-6)


def test_nothing_comes_of_an_empty_one():
    assert MemoryLibrary(2).nearest(unit([[1, 0]])[0], 3).pairs == []

"""Rows of numbers: they stay what they are while rows get longer, more, and their numbers larger."""

from polyclinic.memory.recall import Rows


def test_rows_grow_in_every_way():
    rows, said = Rows(2, blank=0), []
    for n in range(600):
        said.append([n, *[7] * (n % 5)] if n != 300 else [40_000])  # more than two bytes hold
        rows.append(said[-1])
    width = rows.rows.shape[1]
    assert rows.rows.tolist() == [row + [0] * (width - len(row)) for row in said]

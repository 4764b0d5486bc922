"""Rows of numbers: they stay what they are while rows get longer, more, and their numbers larger."""

from polyclinic.memory.recall import NOT_THERE, CaseTable, Rows


def test_rows_grow_in_every_way():
    rows, said = Rows(2, blank=0), []
    for n in range(600):
        said.append([n, *[7] * (n % 5)] if n != 300 else [40_000])  # more than two bytes hold
        rows.append(said[-1])
    width = rows.rows.shape[1]
    assert rows.rows.tolist() == [row + [0] * (width - len(row)) for row in said]


def test_entries_that_do_not_count_are_not_there():
    table = CaseTable()
    table.extend(1, 3)
    table.add(1, 2, [5, 6], (0, 1, 1, 2))
    assert table.rows_of(1, [0, 2]).tolist() == [NOT_THERE, 0]
    assert (table.statements[0, :2].tolist(), table.led_to.tolist(), table.of_library(0)) == ([5, 6], [2], 0)

"""Shipped tables: the same as those made from their sources, and made anew where a source changed."""

import msgspec
import pytest

from polyclinic import compiled
from polyclinic.compiled import Compiled, plain
from polyclinic.knowledge.knowledge import LINKED
from polyclinic.players.rules.lay_vocabulary import PHRASES

TABLES = {"knowledge": LINKED, "phrases": PHRASES}


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_shipped_tables_are_those_of_their_sources(table):
    """`make docs` writes them again where this fails."""
    assert table.file.read_bytes() == table.encode()
    read = Compiled(table.file, table._kind, sources=table._sources, make=lambda: pytest.fail("is shipped")).table
    assert msgspec.msgpack.encode(plain(read)) == msgspec.msgpack.encode(plain(table.make()))


def test_a_table_is_made_anew_where_a_source_changed_or_its_file_is_broken(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_PACKAGE", tmp_path)
    source, file = tmp_path / "words.txt", tmp_path / "words.msgpack"
    source.write_text("b a")

    def words():
        return Compiled(
            file, frozenset[str], sources=lambda: [source], make=lambda: frozenset(source.read_text().split())
        )

    file.write_bytes(words().encode())
    shipped = words()
    shipped.make = lambda: pytest.fail("is shipped")
    assert shipped.table == {"a", "b"}
    source.write_text("c")
    assert words().table == {"c"}
    file.write_bytes(b"half")
    assert words().table == {"c"}

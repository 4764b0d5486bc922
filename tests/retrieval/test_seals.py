"""A byte of a corpus that is not what was stored is an error, and never an answer."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tests.retrieval.conftest import BOOK

from polyclinic.errors import BadInput
from polyclinic.retrieval.corpus import FILE, Corpus

DAMAGE = {
    "passage 'gout' is not what": "UPDATE passages SET text = replace(text, 'uric', 'uris') WHERE id = 'gout'",
    "a passage that was added is not there": "UPDATE passages SET n = n + 10 WHERE id = 'gout'",
    "a vector is not what": "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE n = 1",
}


class Ones:
    name = "ones"

    async def passages(self, texts):
        return np.ones((len(texts), 2), dtype=np.float32) / np.sqrt(np.float32(2))

    async def query(self, _):
        return np.ones(2, dtype=np.float32) / np.sqrt(np.float32(2))


def changed(folder, statement):
    with closing(sqlite3.connect(folder / FILE)) as file:
        file.execute(statement)
        file.commit()


async def test_what_was_changed_is_named_and_is_no_answer(tmp_path):
    for number, (said, statement) in enumerate(DAMAGE.items()):
        folder = tmp_path / str(number)
        with Corpus(folder) as corpus:
            corpus.use(Ones())
            corpus.add(BOOK)
            await corpus.embed()
        changed(folder, statement)
        with pytest.raises(BadInput, match=said), Corpus(folder, embedder=Ones()) as corpus:
            await corpus.search("uric acid", 3, by="hybrid")


def test_a_corpus_of_an_earlier_version_is_sealed_when_it_is_opened(tmp_path):
    with Corpus(tmp_path) as corpus:
        corpus.add(BOOK)
    for table in ("passages", "vectors"):
        changed(tmp_path, f"ALTER TABLE {table} DROP COLUMN seal")
    with Corpus(tmp_path) as corpus:
        assert [passage.id for passage in corpus.find("uric acid", 3)] == ["gout"]
    changed(tmp_path, DAMAGE["passage 'gout' is not what"].replace("uris", "uria"))
    with pytest.raises(BadInput, match="'gout'"), Corpus(tmp_path) as corpus:
        corpus.find("acid", 3)

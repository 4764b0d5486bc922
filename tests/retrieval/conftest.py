"""What the tests of corpora need: the libraries of the extra, and a corpus of a few passages."""

import pytest

from polyclinic.retrieval.store import NewPassage

BOOK = [
    NewPassage("gout", "Gout", "Crystals of uric acid in a joint: a red, swollen and very painful big toe at night."),
    NewPassage("asthma", "Asthma", "Narrow airways with wheezing, cough and breathlessness, often at night."),
    NewPassage("angina", "Angina", "Pressure in the chest on exertion, from narrow arteries of the heart."),
    NewPassage("copd", "慢性阻塞性肺疾病", "长期吸烟者的咳嗽、咳痰和气促；急性加重期需要抗生素治疗。"),
    NewPassage("empty", "Nothing else", ""),
]


@pytest.fixture(autouse=True)
def _libraries():
    for name in ("tantivy", "rjieba", "wordllama"):
        pytest.importorskip(name, reason=f"{name} of the extra 'retrieval' is not installed")


@pytest.fixture
def book():
    return list(BOOK)


@pytest.fixture
def corpus(tmp_path):
    from polyclinic.retrieval.corpus import Corpus

    with Corpus(tmp_path / "book") as made:
        made.add(BOOK)
        yield made

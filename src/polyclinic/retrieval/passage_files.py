"""Reads passages from files: JSON lines in several layouts, plain text and Markdown, and our own knowledge.

| layout       | a record                                                                                  |
|--------------|-------------------------------------------------------------------------------------------|
| `polyclinic` | `{"id": "1", "title": "Asthma", "text": "..."}`; id and title may be left out             |
| `medrag`     | `{"id": "...", "title": "...", "content": "..."}`: textbooks, StatPearls, Wikipedia, PubMed |
| `medquad`    | `{"source": "NIDDK", "id": "0000001-1", "question": "...", "answer": "...", ...}`           |

MedRAG: Xiong et al., Benchmarking Retrieval-Augmented Generation for Medicine, arXiv:2402.13178. MedQuAD: Ben Abacha
and Demner-Fushman, A Question-Entailment Approach to Question Answering, BMC Bioinformatics 2019.

Text is cut into passages of whole paragraphs; a long paragraph is cut between sentences. A file is named by as much of
its path as tells it apart from the others, and its passages' ids begin with that name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.loaders.records import keys_of, parse_map, unrecognised
from polyclinic.errors import BadInput, UserError
from polyclinic.files import read_lines, read_records
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Item
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import Language, chinese_characters
from polyclinic.retrieval.store import NewPassage, PassageFile
from polyclinic.yaml_files import read_yaml

_OFTEN = 0.5
_SELDOM = 0.15


class _Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    titles: dict[str, str]
    sentences: dict[str, str]


def knowledge_passages() -> Iterator[NewPassage]:
    """Yields passages of our own knowledge; an id is a disease's, what is said of it, and the language."""
    knowledge = read_knowledge()
    wordings = read_yaml(Path(__file__).with_name("knowledge_passages.yaml"), dict[Language, _Wording])
    for disease in knowledge.diseases.values():
        for language, wording in wordings.items():
            for part, text in _texts(disease, knowledge, language, wording.sentences).items():
                title = wording.titles[part].format(name=disease.name.get(language))
                yield NewPassage(f"{disease.id}/{part}/{language}", title, text)


def _texts(disease: Disease, knowledge: Knowledge, language: Language, say: dict[str, str]) -> dict[str, str]:
    """Returns what is said of a disease, by part."""
    join = say["join"].join
    name, *others = disease.called(language)
    called = say["called" if others else "alone"].format(name=name, icd10=disease.icd10, others=join(others))
    people = disease.epidemiology
    seen = say["seen_in"].format(
        department=knowledge.departments[disease.department].name.get(language),
        female=f"{100 * people.female:.0f}",
        ages=join(band for band, share in people.age.items() if share == max(people.age.values())),
    )
    shares = {id: sum(each) / len(each) for id, each in disease.symptoms.items()}
    symptoms = []
    for how, low, high in (("often", _OFTEN, 2.0), ("sometimes", _SELDOM, _OFTEN)):
        if ids := sorted((id for id, share in shares.items() if low <= share < high), key=lambda id: -shares[id]):
            symptoms.append(say[how].format(list=join(knowledge.symptoms[id].name.get(language) for id in ids)))
    ordered = join(knowledge.examinations[id].name.get(language) for id in disease.examinations)
    examinations = [say["ordered"].format(list=ordered)] if ordered else []
    for id, items in disease.findings.items():
        known = {item.id: item for item in knowledge.examinations[id].items}
        for item in (known[item_id] for item_id in items):
            if (value := _value(disease, id, item, language, say)) is not None:
                examinations.append(say["found"].format(item=item.name.get(language), value=value))
    plans = (
        say["plan"].format(severity=say[severity], list=join(disease.plan(severity).get(language)))
        for severity in SEVERITIES
    )
    return {
        "names": f"{called} {seen}",
        "symptoms": " ".join(symptoms),
        "examinations": " ".join(examinations),
        "treatment": " ".join(plans),
    }


def _value(disease: Disease, examination: str, item: Item, language: Language, say: dict[str, str]) -> str | None:
    """Returns what is found of an item, at the middle severity; None if it is most often normal."""
    severity: Severity = "mild" if "all" in disease.findings[examination][item.id] else "moderate"
    distribution = disease.distribution(examination, item, severity)
    if isinstance(distribution, dict):
        likeliest = max(distribution, key=lambda value: distribution[value])
        return None if likeliest == next(iter(item.values)) else item.values[likeliest].get(language)
    centre = distribution[0]
    low, high = item.low is not None and centre < item.low, item.high is not None and centre > item.high
    if not low and not high:
        return None
    # In UCUM's units, brackets mark what is not a unit.
    unit = re.sub(r"\{.*?\}|[\[\]]", "", item.unit).replace("Cel", "°C")
    return say["low" if low else "high"].format(value=f"{centre:g}", unit=unit).strip()


_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What no id can be typed with; the last are bytes of a name that is no text."""


def called(files: Iterable[Path | str], known: Mapping[str, str]) -> Iterator[tuple[Path | str, str, str]]:
    """Yields files, each once, with a key that no other has, and what each is called.

    A file is called by its name, with so many of the folders above it as it takes to tell it from the others; what is
    no path is called as it is. A key shows nothing of the path.
    """
    places: dict[str, Path | str] = {}
    endings: dict[str, list[str]] = {}
    for file in files:
        key, names = str(file), [str(file)]
        if isinstance(file, Path):
            # The folder is the real one, the name the given one: links to files are made to give them names.
            place = file.parent.resolve() / file.name
            key = hashlib.blake2b(str(place).encode(errors="surrogateescape"), digest_size=16).hexdigest()
            parts = [_CONTROL.sub("?", part) for part in place.relative_to(place.anchor).parts]
            names = ["/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
        places[key], endings[key] = file, names
    counts = Counter(ending for key, names in endings.items() if key not in known for ending in names)
    taken = set(known.values())
    for key, file in places.items():
        name = known.get(key)
        if name is None:
            unique = [ending for ending in endings[key] if counts[ending] == 1]
            numbered = [f"{endings[key][-1]}~{n}" for n in range(2, len(taken) + 3)]
            name = next(one for one in (*unique, *numbered) if one not in taken)
            taken.add(name)
        yield file, key, name


MOST = 1_000
"""Characters of a passage, as in MedRAG's corpora; a Chinese one counts for two and a half, as it says as much."""

_CHINESE = 2.5
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")
_WORD = re.compile(r"\s+")


def read_prose(path: Path, called: str) -> Iterator[tuple[int, NewPassage]]:
    """Yields passages with the lines that they begin in; their titles are the headings above them, or the file's name.

    Their ids are what the file is `called`, and their number in it.
    """
    name = path.name.removesuffix(".gz")
    markdown = name.lower().endswith((".md", ".markdown"))
    headings: list[tuple[int, str]] = []
    parts: list[tuple[int, str]] = []
    number, last, fenced = 0, -1, False

    def passages() -> Iterator[tuple[int, NewPassage]]:
        nonlocal number
        title = " > ".join(text for _, text in headings) or Path(name).stem
        for line, text in _together(parts):
            number += 1
            yield line, NewPassage(f"{called}-{number}", title, text)
        parts.clear()

    for line, raw in read_lines(path):
        if "\0" in raw:
            raise BadInput("NUL bytes, and no text; name a text file", path=path, line=line)
        text = raw.strip()
        fenced ^= markdown and _FENCE.match(text) is not None
        heading = _HEADING.match(text) if markdown and not fenced else None
        if heading is not None:
            yield from passages()
            level = len(heading[1])
            headings = [(above, title) for above, title in headings if above < level] + [(level, heading[2])]
        elif parts and line == last + 1:
            begun, paragraph = parts[-1]
            parts[-1] = (begun, f"{paragraph}\n{text}")
        else:
            parts.append((line, text))
        last = line if heading is None else -1
    yield from passages()
    if not number:
        raise BadInput("headings only; a text is needed", path=path)


def _together(paragraphs: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Puts paragraphs together as long as they fit, with the line of the first."""
    gathered: list[str] = []
    begun = 0
    for line, paragraph in paragraphs:
        for piece in _pieces(paragraph):
            if gathered and _weight("\n\n".join([*gathered, piece])) > MOST:
                yield begun, "\n\n".join(gathered)
                gathered = []
            if not gathered:
                begun = line
            gathered.append(piece)
    if gathered:
        yield begun, "\n\n".join(gathered)


def _pieces(paragraph: str) -> Iterator[str]:
    """Cuts a paragraph that is too long between its sentences, and a sentence that is too long between its words."""
    if _weight(paragraph) <= MOST:
        yield paragraph
        return
    piece = ""
    for sentence in _SENTENCE.split(paragraph):
        for part in [sentence] if _weight(sentence) <= MOST else _words(sentence):
            if piece and _weight(f"{piece} {part}") > MOST:
                yield piece
                piece = ""
            blank = " " if piece and piece[-1].isascii() else ""
            piece = f"{piece}{blank}{part}"
    if piece:
        yield piece


def _words(sentence: str) -> Iterator[str]:
    step = int(MOST // _CHINESE)
    for word in _WORD.split(sentence):
        yield from (word[start : start + step] for start in range(0, len(word), step))


def _weight(text: str) -> float:
    return len(text) + (_CHINESE - 1) * chinese_characters(text)


FIELDS = ("id", "title", "text")

_MAPS: dict[str, dict[str, str]] = {
    "polyclinic": {"id": "id", "title": "title", "text": "text"},
    "medrag": {"id": "id", "title": "title", "text": "content"},
    "medquad": {"id": "id", "title": "question", "text": "answer"},
}
_SIGNS = {"medquad": {"question", "answer", "source"}, "medrag": {"content"}, "polyclinic": {"text"}}
"""A layout is known by all of these keys of its first record; the first that fits."""

LAYOUTS = tuple(_MAPS)

_CONTROL_RECORDS = re.compile(r"[\x00-\x1f\x7f]")


def read_passage_records(
    path: Path, called: str, *, layout: str | None = None, fields: Mapping[str, str] | None = None
) -> Iterator[tuple[int, NewPassage]]:
    """Yields the passages of a file with their lines.

    The id of a record without one is what its file is `called`, and its line. Ids of MedQuAD are the names
    of LiveQA's judged answers without their ending, `NIDDK_0000001_Sec1`; the answer to a question that came under the
    same one before ends in ~2.
    """
    met: Counter[str] = Counter()
    for line, record in read_records(path, dict[str, Any], "a passage"):
        try:
            if layout is None and fields is None:
                layout = next((name for name, signs in _SIGNS.items() if signs <= set(record)), None)
                if layout is None:
                    raise unrecognised(record, "name them: corpus.fields=id=KEY,title=KEY,text=KEY")
            passage = _passage(record, _MAPS[str(layout)] if fields is None else fields, f"{called}-{line}")
        except BadInput as error:
            raise BadInput(error.problem, path=path, line=line, field=error.field) from None
        if layout == "medquad":
            # Its ids are unique neither in the file nor in their source.
            document, _, section = passage.id.rpartition("-")
            name = f"{record['source']}_{document}_Sec{section}" if document else f"{record['source']}_{passage.id}"
            met[name] += 1
            passage = passage._replace(id=name if met[name] == 1 else f"{name}~{met[name]}")
        yield line, passage


def _passage(record: dict[str, Any], keys: Mapping[str, str], otherwise: str) -> NewPassage:
    """Returns the passage of a record; `otherwise` is its id if it has none."""
    title, text, key = record.get(keys.get("title", ""), ""), record.get(keys["text"]), keys.get("id", "")
    if keys["text"] not in record:
        raise BadInput(f"there is no field {keys['text']!r}; there are: {keys_of(record)}")
    if not isinstance(title, str):
        raise BadInput("a text is needed; a title may be left out", field=f"$.{keys['title']}")
    if not isinstance(text, str) or not text.strip():
        raise BadInput("a text is needed", field=f"$.{keys['text']}")
    given = record.get(key)
    if given is None and key in ("", "id"):
        given = otherwise
    id = str(given).strip()
    if isinstance(given, bool) or not isinstance(given, str | int) or not id or _CONTROL_RECORDS.search(id):
        raise BadInput("an id is a text or a whole number, without control characters", field=f"$.{key}")
    return NewPassage(id, title.strip(), text.strip())


KNOWLEDGE = "knowledge"  # Stands for the medical knowledge that comes with polyclinic, in place of a file

_PROSE = (".txt", ".text", ".md", ".markdown")
_RECORDS = (".jsonl", ".ndjson", ".json")
_ENDINGS = ", ".join((*_RECORDS, *_PROSE))
_JUDGEMENT = re.compile(r"\d+\s+(?:(?:0|Q0)\s+\S+\s+-?\d+|-?\d+\S*\s+\S+)", re.IGNORECASE)
_LOOKED_AT = 20  # Lines that say whether a file holds judgements


def read_passages(
    files: Iterable[str | Path], *, layout: str | None = None, fields: Mapping[str, str] | None = None
) -> Iterator[NewPassage]:
    """Yields the passages of files, in their order.

    Args:
        files: JSON lines, text (.txt), Markdown (.md), each perhaps packed (.gz); folders of such; or `KNOWLEDGE`.
        layout: of JSON lines, one of `LAYOUTS`; recognised by the first record where left out.
        fields: of any other JSON lines, which of their fields is `id`, `title` and `text`; see `parse_passage_fields`.

    Raises:
        BadInput: a file or a line of it cannot be used, or an id stands twice; says where, and what was allowed.
    """
    for file in _read_files(files, layout, fields, {}):
        yield from file.passages


def read_passage_files(
    files: Iterable[str | Path],
    *,
    layout: str | None = None,
    fields: Mapping[str, str] | None = None,
    known: Mapping[str, str] | None = None,
) -> list[PassageFile]:
    """Returns files with their passages, as `Corpus.add_files` takes them; the rest is as in `read_passages`.

    A file that is named twice is read once. The `known` files of the corpus, `Corpus.files`, keep their names, and no
    other file takes one.
    """
    return [file._replace(passages=list(file.passages)) for file in _read_files(files, layout, fields, known or {})]


def _read_files(
    files: Iterable[str | Path], layout: str | None, fields: Mapping[str, str] | None, known: Mapping[str, str]
) -> Iterator[PassageFile]:
    """Yields files, the passages of each to be read before the next."""
    if layout is not None and fields is not None:
        raise UserError("a layout and a field map were both given; one of them says how the file is read")
    if layout is not None and layout not in LAYOUTS:
        raise UserError(f"no layout of passages is called {layout!r}; there are: {', '.join(LAYOUTS)}")
    seen: dict[str, tuple[Path | str, int | None]] = {}

    def passages(path: Path | str, name: str) -> Iterator[NewPassage]:
        for line, passage in _read(path, name, layout, fields):
            if passage.id in seen:
                where, number = seen[passage.id]
                earlier = f"line {number}" if where == path and number is not None else f"{where}"
                raise BadInput(f"the id {passage.id!r} stands in {earlier} already", path=path, line=line)
            seen[passage.id] = (path, line)
            yield passage

    for path, key, name in called(_files(files), known):
        yield PassageFile(name, key, passages(path, name))


def _read(
    path: Path | str, name: str, layout: str | None, fields: Mapping[str, str] | None
) -> Iterator[tuple[int | None, NewPassage]]:
    if isinstance(path, str):
        return ((None, passage) for passage in knowledge_passages())
    suffix = _suffix(path)
    if suffix in _PROSE:
        if _is_judgements(path):
            raise BadInput("judgements of answers (topic, grade, document), and no passages; leave it out", path=path)
        return read_prose(path, name)
    if suffix and suffix not in _RECORDS:
        raise BadInput(f"a name that ends in {suffix}; allowed: {_ENDINGS}, each perhaps packed (.gz)", path=path)
    return read_passage_records(path, name, layout=layout, fields=fields)


def _files(names: Iterable[str | Path]) -> Iterator[Path | str]:
    for name in names:
        path = Path(name)
        if str(name) == KNOWLEDGE and not path.exists():
            yield KNOWLEDGE
        elif (inside := _inside(path)) is None:
            yield path
        elif taken := [one for one, is_read in inside.items() if is_read]:
            yield from taken
        else:
            raise BadInput(f"no file in this folder ends in {_ENDINGS}, judgements of answers apart", path=path)


def _inside(path: Path) -> dict[Path, bool] | None:
    """Returns what is in a folder, and whether it is read; None if it is no folder."""
    try:
        if not path.is_dir():
            return None
        return {
            one: one.is_file() and _suffix(one) in (*_PROSE, *_RECORDS) and not _is_judgements(one)
            for one in sorted(path.iterdir())
        }
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


def passed_over(files: Iterable[str | Path]) -> list[Path]:
    """Returns what `read_passages` leaves unread of the folders among the files, in order.

    These are files of other endings, folders within, and judgements of answers (qrels); hidden ones are not told.
    """
    inside = (_inside(Path(name)) or {} for name in files)
    return [one for folder in inside for one, is_read in folder.items() if not is_read and one.name[0] != "."]


def _is_judgements(path: Path) -> bool:
    """Whether a text holds judgements: lines of topic, grade and document, with or without TREC's second column."""
    if _suffix(path) not in _PROSE:
        return False
    try:
        return all(_JUDGEMENT.fullmatch(line.strip()) for _, line in islice(read_lines(path), _LOOKED_AT))
    except BadInput:
        return False  # What is wrong with it is said when it is read.


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def parse_passage_fields(text: str) -> dict[str, str]:
    """Reads `id=KEY,title=KEY,text=KEY`, which fields of a record are a passage's; `text` is needed."""
    return parse_map(text, "corpus.fields", FIELDS, ("text",))

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
    path = Path(__file__).with_name("knowledge_passages.yaml")
    for disease in knowledge.diseases.values():
        for language, wording in read_yaml(path, dict[Language, _Wording]).items():
            say = wording.sentences
            parts = {
                "names": _names(disease, knowledge, language, say),
                "symptoms": _symptoms(disease, knowledge, language, say),
                "examinations": _examinations(disease, knowledge, language, say),
                "treatment": " ".join(
                    say["plan"].format(
                        severity=say[severity], list=say["join"].join(disease.plan(severity).get(language))
                    )
                    for severity in SEVERITIES
                ),
            }
            for part, text in parts.items():
                title = wording.titles[part].format(name=disease.name.get(language))
                yield NewPassage(f"{disease.id}/{part}/{language}", title, text)


def _names(disease: Disease, knowledge: Knowledge, language: Language, say: dict[str, str]) -> str:
    name, *others = disease.called(language)
    first = say["called" if others else "alone"]
    department = knowledge.departments[disease.department].name.get(language)
    ages = [band for band, share in disease.epidemiology.age.items() if share == max(disease.epidemiology.age.values())]
    called = first.format(name=name, icd10=disease.icd10, others=say["join"].join(others))
    female = f"{100 * disease.epidemiology.female:.0f}"
    return f"{called} {say['seen_in'].format(department=department, female=female, ages=say['join'].join(ages))}"


def _symptoms(disease: Disease, knowledge: Knowledge, language: Language, say: dict[str, str]) -> str:
    shares = {id: sum(each) / len(each) for id, each in disease.symptoms.items()}
    parts = []
    for how, low, high in (("often", _OFTEN, 2.0), ("sometimes", _SELDOM, _OFTEN)):
        if ids := sorted((id for id, share in shares.items() if low <= share < high), key=lambda id: -shares[id]):
            names = [knowledge.symptoms[id].name.get(language) for id in ids]
            parts.append(say[how].format(list=say["join"].join(names)))
    return " ".join(parts)


def _examinations(disease: Disease, knowledge: Knowledge, language: Language, say: dict[str, str]) -> str:
    ordered = [knowledge.examinations[id].name.get(language) for id in disease.examinations]
    parts = [say["ordered"].format(list=say["join"].join(ordered))] if ordered else []
    for id, items in disease.findings.items():
        known = {item.id: item for item in knowledge.examinations[id].items}
        for item_id in items:
            value = _value(disease, id, known[item_id], language, say)
            if value is not None:
                parts.append(say["found"].format(item=known[item_id].name.get(language), value=value))
    return " ".join(parts)


def _value(disease: Disease, examination: str, item: Item, language: Language, say: dict[str, str]) -> str | None:
    """Returns what is found of an item, at the middle severity; None if it is most often normal."""
    severity: Severity = "mild" if "all" in disease.findings[examination][item.id] else "moderate"
    distribution = disease.distribution(examination, item, severity)
    if isinstance(distribution, dict):
        likeliest = max(distribution, key=lambda value: distribution[value])
        return None if likeliest == next(iter(item.values)) else item.values[likeliest].get(language)
    centre = distribution[0]
    if item.low is not None and centre < item.low:
        how = "low"
    elif item.high is not None and centre > item.high:
        how = "high"
    else:
        return None
    # In UCUM's units, brackets mark what is not a unit.
    unit = re.sub(r"\{.*?\}|[\[\]]", "", item.unit).replace("Cel", "°C")
    return say[how].format(value=f"{centre:g}", unit=unit).strip()


_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What no id can be typed with; the last are bytes of a name that is no text."""


def called(files: Iterable[Path | str], known: Mapping[str, str]) -> Iterator[tuple[Path | str, str, str]]:
    """Yields files, each once, with a key that no other has, and what each is called.

    A file is called by its name, with so many of the folders above it as it takes to tell it from the others; what is
    no path is called as it is.
    """
    places = {_key(file): file for file in files}
    endings = {key: _endings(file) for key, file in places.items() if key not in known}
    counts = Counter(ending for one in endings.values() for ending in one)
    taken = set(known.values())
    for key, file in places.items():
        name = known.get(key)
        if name is None:
            whole = endings[key][-1]
            wanted = (
                *(ending for ending in endings[key] if counts[ending] == 1),
                *(f"{whole}~{n}" for n in range(2, len(taken) + 3)),
            )
            name = next(one for one in wanted if one not in taken)
            taken.add(name)
        yield file, key, name


def _place(file: Path) -> Path:
    # The folder is the real one, the name the given one: links to files are made to give them names.
    return file.parent.resolve() / file.name


def _key(file: Path | str) -> str:
    """Returns what identifies a file; it shows nothing of the path."""
    if isinstance(file, str):
        return file
    return hashlib.blake2b(str(_place(file)).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _endings(file: Path | str) -> list[str]:
    """Returns the endings of a path, the shortest first."""
    if isinstance(file, str):
        return [file]
    place = _place(file)
    parts = [_CONTROL.sub("?", part) for part in place.relative_to(place.anchor).parts]
    return ["/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]


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


Record = dict[str, Any]

_MAPS: dict[str, dict[str, str]] = {
    "polyclinic": {"id": "id", "title": "title", "text": "text"},
    "medrag": {"id": "id", "title": "title", "text": "content"},
    "medquad": {"id": "id", "title": "question", "text": "answer"},
}
_SIGNS = {"medquad": {"question", "answer", "source"}, "medrag": {"content"}, "polyclinic": {"text"}}
"""A layout is known by all of these keys of its first record; the first that fits."""

LAYOUTS = tuple(_MAPS)

_SHOWN = 8
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
    for line, record in read_records(path, Record, "a passage"):
        there = ", ".join(list(record)[:_SHOWN]) or "none"
        if layout is None and fields is None:
            layout = next((name for name, signs in _SIGNS.items() if signs <= set(record)), None)
            if layout is None:
                how = "name them: corpus.fields=id=KEY,title=KEY,text=KEY"
                raise BadInput(f"no layout that is known, its keys are {there}; {how}", path=path, line=line)
        keys = _MAPS[str(layout)] if fields is None else fields
        texts = {}
        for part in ("title", "text"):
            key = keys.get(part)
            value = "" if key is None else record.get(key, "" if key == "title" else None)
            if key is not None and key not in record and key != "title":
                raise BadInput(f"there is no field {key!r}; there are: {there}", path=path, line=line)
            if not isinstance(value, str) or (part == "text" and not value.strip()):
                problem = "a text is needed" + ("; a title may be left out" if part == "title" else "")
                raise BadInput(problem, path=path, line=line, field=f"$.{key}")
            texts[part] = value.strip()
        id = _id(record, keys.get("id"), path, line) or f"{called}-{line}"
        if layout == "medquad":
            # Its ids are unique neither in the file nor in their source.
            document, _, section = id.rpartition("-")
            name = f"{record['source']}_{document}_Sec{section}" if document else f"{record['source']}_{id}"
            met[name] += 1
            id = name if met[name] == 1 else f"{name}~{met[name]}"
        yield line, NewPassage(id, texts["title"], texts["text"])


def _id(record: Record, key: str | None, path: Path, line: int) -> str | None:
    value = None if key is None else record.get(key)
    if value is None and (key is None or key == "id"):
        return None
    id = str(value).strip()
    if isinstance(value, bool) or not isinstance(value, str | int) or not id or _CONTROL_RECORDS.search(id):
        problem = "an id is a text or a whole number, without control characters"
        raise BadInput(problem, path=path, line=line, field=f"$.{key}")
    return id


KNOWLEDGE = "knowledge"  # Stands for the medical knowledge that comes with polyclinic, in place of a file

FIELDS = ("id", "title", "text")

_PROSE = (".txt", ".text", ".md", ".markdown")
_RECORDS = (".jsonl", ".ndjson", ".json")
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

    Args:
        files: as there; one that is named twice is read once.
        layout: as there.
        fields: as there.
        known: the files that the corpus has, `Corpus.files`: they keep their names, and no other file takes one.
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
        allowed = ", ".join((*_RECORDS, *_PROSE))
        raise BadInput(f"a name that ends in {suffix}; allowed: {allowed}, each perhaps packed (.gz)", path=path)
    return read_passage_records(path, name, layout=layout, fields=fields)


def _files(names: Iterable[str | Path]) -> Iterator[Path | str]:
    for name in names:
        path = Path(name)
        if str(name) == KNOWLEDGE and not path.exists():
            yield KNOWLEDGE
        elif _is_folder(path):
            inside = [one for one in sorted(path.iterdir()) if _taken(one)]
            if not inside:
                allowed = ", ".join((*_RECORDS, *_PROSE))
                raise BadInput(f"no file in this folder ends in {allowed}, judgements of answers apart", path=path)
            yield from inside
        else:
            yield path


def _taken(path: Path) -> bool:
    """Whether a file of a folder is read; one that is named by itself always is."""
    return path.is_file() and _suffix(path) in (*_PROSE, *_RECORDS) and not _is_judgements(path)


def passed_over(files: Iterable[str | Path]) -> list[Path]:
    """Returns what `read_passages` leaves unread of the folders among the files, in order.

    These are files of other endings, folders within, and judgements of answers (qrels); hidden ones are not told.
    """
    folders = (Path(name) for name in files if not (str(name) == KNOWLEDGE and not Path(name).exists()))
    return [
        one
        for folder in folders
        if _is_folder(folder)
        for one in sorted(folder.iterdir())
        if not one.name.startswith(".") and not _taken(one)
    ]


def _is_judgements(path: Path) -> bool:
    """Whether a text holds judgements: lines of topic, grade and document, with or without TREC's second column."""
    if _suffix(path) not in _PROSE:
        return False
    try:
        first = [line.strip() for _, line in islice(read_lines(path), _LOOKED_AT)]
    except BadInput:
        return False  # Whoever reads it says what is wrong with it.
    return all(_JUDGEMENT.fullmatch(line) for line in first)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def parse_passage_fields(text: str) -> dict[str, str]:
    """Reads `id=KEY,title=KEY,text=KEY`, which fields of a record are a passage's; `text` is needed."""
    fields: dict[str, str] = {}
    for part in text.split(","):
        ours, sign, theirs = (word.strip() for word in part.partition("="))
        if not sign or not theirs or ours not in FIELDS or ours in fields:
            raise UserError(f"corpus.fields {text}; allowed: {', '.join(f'{name}=KEY' for name in FIELDS)}, each once")
        fields[ours] = theirs
    if "text" not in fields:
        raise UserError(f"corpus.fields {text}; text=KEY is missing")
    return fields

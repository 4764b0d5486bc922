"""Passages out of JSON lines.

| layout       | a record                                                                                  |
|--------------|-------------------------------------------------------------------------------------------|
| `polyclinic` | `{"id": "1", "title": "Asthma", "text": "..."}`; id and title may be left out             |
| `medrag`     | `{"id": "...", "title": "...", "content": "..."}`: textbooks, StatPearls, Wikipedia, PubMed |
| `medquad`    | `{"source": "NIDDK", "id": "0000001-1", "question": "...", "answer": "...", ...}`           |

MedRAG: Xiong et al., Benchmarking Retrieval-Augmented Generation for Medicine, arXiv:2402.13178. MedQuAD: Ben Abacha
and Demner-Fushman, A Question-Entailment Approach to Question Answering, BMC Bioinformatics 2019.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from polyclinic.errors import BadInput
from polyclinic.files import read_records
from polyclinic.retrieval.store import NewPassage

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
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_JSON = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def read_passage_records(
    path: Path, called: str, *, layout: str | None = None, fields: Mapping[str, str] | None = None
) -> Iterator[tuple[int, NewPassage]]:
    """Yields the passages of a file with their lines.

    The id of a record without one is what its file is `called`, and its line. Ids of MedQuAD are the names
    of LiveQA's judged answers without their ending, `NIDDK_0000001_Sec1`; the answer to a question that came under the
    same one before ends in ~2.

    Raises:
        BadInput: a line is no such record; names it.
    """
    found = None if layout is None else layout
    named = _numbered() if layout in {None, "medquad"} else None
    for line, record in read_records(path, Record, "a passage"):
        if found is None and fields is None:
            found = _layout(record, path, line)
        keys = fields if fields is not None else _MAPS[str(found)]
        title, text = _text(record, keys.get("title"), path, line), _text(record, keys["text"], path, line)
        if not text.strip():
            raise BadInput("a passage without words; a text is needed", path=path, line=line, field=f"$.{keys['text']}")
        id = _id(record, keys.get("id"), path, line) or f"{called}-{line}"
        if found == "medquad" and named is not None:
            id = named(record, id)
        yield line, NewPassage(id, title.strip(), text.strip())


def _layout(record: Record, path: Path, line: int) -> str:
    for name, signs in _SIGNS.items():
        if signs <= set(record):
            return name
    there = ", ".join(list(record)[:_SHOWN]) or "none"
    problem = f"no layout that is known, its keys are {there}; say which are what: --fields id=KEY,title=KEY,text=KEY"
    raise BadInput(problem, path=path, line=line)


def _text(record: Record, key: str | None, path: Path, line: int) -> str:
    if key is None:
        return ""
    if key not in record:
        if key == "title":
            return ""
        problem = f"there is no field {key!r}; there are: {', '.join(list(record)[:_SHOWN]) or 'none'}"
        raise BadInput(problem, path=path, line=line)
    value = record[key]
    if not isinstance(value, str):
        problem = f"{_JSON[type(value)]} where a text is needed"
        if key == "title":
            problem += "; a title may be left out"
        raise BadInput(problem, path=path, line=line, field=f"$.{key}")
    return value


def _id(record: Record, key: str | None, path: Path, line: int) -> str | None:
    value = None if key is None else record.get(key)
    if value is None and (key is None or key == "id"):
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int)
        or not str(value).strip()
        or _CONTROL.search(str(value).strip())
    ):
        raise BadInput(
            "an id is a text or a whole number, without control characters", path=path, line=line, field=f"$.{key}"
        )
    return str(value).strip()


def _numbered() -> Callable[[Record, str], str]:
    """Returns what names the answers of MedQuAD, whose ids are unique neither in the file nor in their source."""
    met: Counter[str] = Counter()

    def named(record: Record, id: str) -> str:
        document, _, section = id.rpartition("-")
        name = f"{record['source']}_{document}_Sec{section}" if document else f"{record['source']}_{id}"
        met[name] += 1
        return name if met[name] == 1 else f"{name}~{met[name]}"

    return named

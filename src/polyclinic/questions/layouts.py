"""Medical exam questions: the layouts that their files come in, samples of them, and options in another order.

`read_exam` reads any layout into `ExamQuestion`s. What gives the answer away (explanations, long answers, the text of
the right option, phrases taken from it) is dropped when the file is read, so that nothing of it can reach a prompt.

- medqa: MedQA (Jin et al., arXiv:2009.13081): four or five options by letter, USMLE or other boards. `answer` repeats
  the right option's text and `metamap_phrases` comes from another tool; both are dropped.
- medmcqa: MedMCQA (Pal et al., arXiv:2203.14371): `opa` to `opd`, and `cop`, which counts them from 1. `exp` explains
  the answer and is dropped. `choice_type` "multi" means that the exam's question spoke of several statements; one
  option is right in every record, so that one is asked for.
- pubmedqa: PubMedQA (Jin et al., arXiv:1909.06146): one object, PubMed id to question, with yes, no or maybe. The
  context is the abstract without its conclusion, which is LONG_ANSWER and is dropped. A file `test_ground_truth.json`
  beside it names the test set, in order.
- mmlu: MMLU (Hendrycks et al., arXiv:2009.03300): CSV without header: question, options, letter. The subject is the
  name of the file; `anatomy_test.csv` has the questions `mmlu-anatomy-0001` and so on.
- polyclinic: our own, an `ExamQuestion` a line.
"""

from __future__ import annotations

import functools
import hashlib
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.cases.loaders.fields import as_text, read_options
from polyclinic.cases.loaders.reader import Element, read_elements, read_rows
from polyclinic.cases.loaders.records import check_map, needed_at, parse_map, unrecognised, value_at
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON, check_file, json_lines, record_as, write_text
from polyclinic.language.language import language_of
from polyclinic.opened_files import read_at_once
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import key_problem
from polyclinic.questions.shuffle import shuffle_options
from polyclinic.seeds import derive

LAYOUTS = ("polyclinic", "medqa", "medmcqa", "pubmedqa", "mmlu")
"""The layouts that a file can be in; with a field map it can be any JSON lines."""

SAMPLE = 300
"""How many questions of a data set MedAgents was measured on."""

_LETTERS = string.ascii_uppercase


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """Which field of a record is what. A dot goes into an object: `question.stem`.

    Attributes:
        options: an object of key to text, a list, or several fields joined by `+` (`opa+opb+opc`).
        answer: the right option: its key, its whole text, or its number; a list of them where several are right.
        id: what names the question; its number in the file where it is left out.
        answer_base: whether an answer that is a number counts the options from 0 or from 1; must be said for those.
    """

    question: str
    options: str
    answer: str
    id: str = ""
    context: str = ""
    subject: str = ""
    answer_base: Literal[0, 1] | None = None


_MAP = ("the field map", Fields.__struct_fields__[:-1], ("question", "options", "answer"))
_PUBLISHED = {
    "medqa": Fields(question="question", options="options", answer="answer_idx", subject="meta_info"),
    "medmcqa": Fields(
        question="question",
        options="opa+opb+opc+opd",
        answer="cop",
        id="id",
        subject="subject_name",
        answer_base=1,
    ),
}


class Shuffled(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its options in another order, its key moved along; `original`: new key to the one it had."""

    question: ExamQuestion
    original: dict[str, str]


def read_exam(
    path: str | Path,
    *,
    layout: str | None = None,
    fields: Mapping[str, str] | None = None,
    answer_base: Literal[0, 1] | None = None,
) -> list[ExamQuestion]:
    """Reads the questions of a file, or of a folder of MMLU's files.

    Args:
        path: JSON lines, a JSON array, PubMedQA's one object, or CSV.
        layout: a name in `LAYOUTS`; by default the first record tells.
        fields: for any other JSON records, which of their fields is what; see `Fields` and `parse_fields`.
        answer_base: with `fields`, whether a right answer given as a number counts the options from 0 or from 1.

    Returns:
        In the order of the file. Options can have equal texts, as in 21 questions of MedMCQA's development set.

    Raises:
        BadInput: the file, a record or the layout cannot be used; says where, what came and what was allowed.
    """
    path = Path(path)
    if layout is not None and layout not in LAYOUTS:
        raise BadInput(f"no layout of exam questions is called {layout!r}; there are {', '.join(LAYOUTS)}")
    if fields is not None and layout is not None:
        raise BadInput("a layout and a field map were both given; one of them says how the file is read")
    if answer_base is not None and fields is None:
        raise BadInput("answer_base belongs to a field map (--fields); every layout knows from where it counts")
    is_csv = fields is None and (path.is_dir() or path.suffix.lower() == ".csv")
    if layout == "mmlu" or (layout is None and is_csv):
        numbered = _read_mmlu(path)
    else:
        if fields is not None:
            check_map(fields, *_MAP)
        numbered = _records(path, layout, None if fields is None else Fields(**fields, answer_base=answer_base))
    questions: list[ExamQuestion] = []
    places: dict[str, str] = {}
    for place, question in numbered:
        if (earlier := places.get(question.question.id)) is not None:
            problem = f"the id {question.question.id!r} stands in {earlier} already; every question needs its own"
            raise place.bad(problem, "$.id")
        places[question.question.id] = f"{place.part} {place.number}"
        questions.append(question)
    return questions


def _records(path: Path, layout: str | None, fields: Fields | None) -> Iterator[tuple[Element, ExamQuestion]]:
    for element in read_elements(path):
        record = element.fields()
        looks_like = None if fields is not None else _looks_like(record)
        layout = layout or looks_like
        try:
            if layout is None and fields is None:
                how = f"name one with --layout ({', '.join(LAYOUTS)}), or say which field is what with --fields "
                raise unrecognised(record, how + "question=...,options=...,answer=...")
            if layout == "pubmedqa":
                questions = list(read_pubmedqa(record, path))
            elif layout == "polyclinic":
                questions = [record_as(record, ExamQuestion)]
            else:
                map_ = fields or _PUBLISHED[str(layout)]
                questions = [_load(record, element.order, map_, "question" if fields else str(layout))]
            yield from ((element, check(question)) for question in questions)
        except BadInput as error:
            if error.path is not None:
                raise
            hint = "" if looks_like in {None, layout} else f"; this is read as {layout}, and looks like {looks_like}"
            raise element.bad(error.problem + hint, error.field) from None


def _looks_like(record: dict[str, Any]) -> str | None:
    if isinstance(record.get("question"), dict) and "key" in record:
        return "polyclinic"
    first = next(iter(record.values()), None)
    if isinstance(first, dict) and {"QUESTION", "CONTEXTS"} <= first.keys():
        return "pubmedqa"
    signs = {name: {one.question, one.answer, *one.options.split("+")[:2]} for name, one in _PUBLISHED.items()}
    return next((name for name, keys in signs.items() if keys <= record.keys()), None)


def parse_fields(text: str) -> dict[str, str]:
    """Reads a field map from the command line."""
    return parse_map(text, *_MAP)


def _load(record: dict[str, Any], order: int, fields: Fields, named: str) -> ExamQuestion:
    """Reads a record with a field map; one without an id is called by its number."""
    stem, field = as_text(needed_at(record, fields.question)), fields.options
    if "+" in field:
        options = dict(zip(_LETTERS, (as_text(needed_at(record, part)) for part in field.split("+")), strict=False))
    else:
        given = needed_at(record, field)
        if isinstance(given, list) and len(given) > len(_LETTERS):
            problem = f"{len(given)} options came; a list has at most {len(_LETTERS)}, an object any number"
            raise BadInput(problem, field=f"$.{field}")
        options = read_options(given, f"$.{field}")
    answer = needed_at(record, fields.answer)
    try:
        keys = [_key(part, options, fields.answer_base) for part in (answer if isinstance(answer, list) else [answer])]
    except BadInput as error:
        raise BadInput(error.problem, field=f"$.{fields.answer}") from None
    if named == "medqa" and as_text(record.get("answer")) not in ("", options[keys[0]].strip()):
        problem = f"answer_idx is {keys[0]}, and answer is not the text of option {keys[0]}"
        raise BadInput(problem, field="$.answer_idx")
    question = Question(
        id=as_text(needed_at(record, fields.id)) if fields.id else f"{named}-{order:04}",
        stem=stem,
        options=options,
        context=as_text(value_at(record, fields.context)),
        language=language_of([stem, *options.values()]),
        several=isinstance(answer, list),
    )
    subject = as_text(value_at(record, fields.subject))
    return ExamQuestion(question=question, key=tuple(dict.fromkeys(keys)), subject=subject)


def _key(answer: Any, options: dict[str, str], base: Literal[0, 1] | None) -> str:
    number, text = isinstance(answer, int) and not isinstance(answer, bool), as_text(answer)
    if text in options and (not number or base is None):
        return text
    same = [] if number else [key for key, option in options.items() if option.strip() == text]
    if len(same) == 1:
        return same[0]
    if same:
        raise BadInput(f"the right answer is the text of the options {', '.join(same)} alike")
    if not number and not text.isdecimal():
        raise BadInput(f"the right answer is {text[:80]!r}; the options are {', '.join(options)}")
    if base is None:
        raise BadInput(f"the right answer is the number {text}; say whether it counts from 0 or 1")
    place = int(text) - base
    if not 0 <= place < len(options):
        last = len(options) - 1 + base
        raise BadInput(f"the right answer is number {text}; they go from {base} to {last}")
    return list(options)[place]


def check(exam_question: ExamQuestion) -> ExamQuestion:
    """Returns the question if it can be asked and scored."""
    question, key = exam_question.question, exam_question.key
    if not question.id.strip():
        raise BadInput("a question needs an id", field="$.id")
    if not question.stem.strip():
        raise BadInput("a question needs a text that asks it", field="$.question")
    if len(question.options) < 2:
        raise BadInput(f"two or more options are needed; there are {len(question.options)}", field="$.options")
    for name, text in question.options.items():
        if not name.strip() or not text.strip():
            raise BadInput(f"option {name!r} is empty; every option needs a key and a text", field="$.options")
    if problem := key_problem(question, key, "a question"):
        raise BadInput(problem, field="$.answer")
    return exam_question


TEST_IDS = "test_ground_truth.json"
_DECISIONS = {"yes": "yes", "no": "no", "maybe": "maybe"}


def read_pubmedqa(articles: dict[str, Any], path: Path) -> Iterator[ExamQuestion]:
    """Yields the test questions in the order of the file beside, or all where there is none, or none is of it."""
    beside, test = path.with_name(TEST_IDS), dict[str, str]()
    if beside.exists():
        check_file(beside)
        try:
            test = msgspec.json.decode(read_at_once(beside), type=dict[str, str])
        except NO_JSON as error:
            problem = f"the list of the test set is no object of ids and decisions ({error})"
            raise BadInput(problem, path=beside) from None
        except OSError as error:
            raise BadInput(f"cannot be read ({error.strerror})", path=beside) from None
    named = {id: decision for id, decision in test.items() if id in articles}
    if named and len(named) < len(test):
        missing = next(id for id in test if id not in named)
        raise BadInput(f"{TEST_IDS} beside it names {len(test)} articles, of which {missing} and more are not here")
    for id in named or articles:
        article = articles[id]
        if not isinstance(article, dict):
            raise BadInput("an object {...} is needed here", field=f"$.{id}")
        try:
            question = _load_article(article, id)
        except BadInput as error:
            raise BadInput(error.problem, field=error.field.replace("$", f"$.{id}", 1)) from None
        if named and named[id] != question.key[0]:
            raise BadInput(f"it says {question.key[0]}, and {TEST_IDS} {named[id]!r}", field=f"$.{id}.final_decision")
        yield question


def _load_article(article: dict[str, Any], id: str) -> ExamQuestion:
    contexts = article.get("CONTEXTS")
    if not isinstance(contexts, list) or not contexts or not all(isinstance(part, str) for part in contexts):
        raise BadInput("a list of paragraphs is needed here", field="$.CONTEXTS")
    decision = needed_at(article, "final_decision")
    if decision not in _DECISIONS:
        raise BadInput(f"the decision is {decision!r}; it is one of {', '.join(_DECISIONS)}", field="$.final_decision")
    question = Question(
        id=id,
        stem=as_text(needed_at(article, "QUESTION")),
        options=dict(_DECISIONS),
        context="\n\n".join(map(str.strip, contexts)),
    )
    return ExamQuestion(question=question, key=(decision,))


_PREFIX = "mmlu-"
_SPLITS = ("_test", "_dev", "_val")
_LEAST = 4
"""Columns: a question, two options and a letter."""


def _read_mmlu(path: Path) -> Iterator[tuple[Element, ExamQuestion]]:
    """Yields the questions of a file, or of all CSV files of a folder by name, with their places."""
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    if not files:
        raise BadInput("the folder holds no CSV file; MMLU's are called anatomy_test.csv and so on", path=path)
    for file in files:
        check_file(file)
        name, order = file.stem.removesuffix("_test"), 0
        subject = next((file.stem.removesuffix(split) for split in _SPLITS if file.stem.endswith(split)), file.stem)
        for order, (line, row) in enumerate(read_rows(file, strict=True), start=1):
            place = Element(path=file, number=line, order=order, text="")
            try:
                yield place, check(_load_row(row, f"{_PREFIX}{name}-{order:04}", subject.replace("_", " ")))
            except BadInput as error:
                raise place.bad(error.problem, error.field) from None
        if not order:
            raise BadInput("the file holds blank lines only; at least one question is needed", path=file)


def _load_row(row: list[str], id: str, subject: str) -> ExamQuestion:
    if len(row) < _LEAST:
        raise BadInput(f"{len(row)} columns came; a row is a question, its options, and the letter of the right one")
    stem, *texts, letter = (cell.strip() for cell in row)
    if len(texts) > len(_LETTERS):
        raise BadInput(f"{len(texts)} options came; at most {len(_LETTERS)} have a letter")
    options = dict(zip(_LETTERS, texts, strict=False))
    if letter not in options:
        allowed = ", ".join(options)
        raise BadInput(f"the last column is {letter[:40]!r}; it is one of {allowed}, and there is no header")
    question = Question(id=id, stem=stem, options=options, language=language_of([stem, *texts]))
    return ExamQuestion(question=question, key=(letter,), subject=subject)


def write_exam(path: str | Path, questions: Iterable[ExamQuestion]) -> None:
    """Writes questions in our own layout as JSON lines, all of them or none.

    Raises:
        BadInput: the path cannot be written.
    """
    write_text(Path(path), json_lines(questions))


def sample(questions: Sequence[ExamQuestion], n: int | None = None, *, seed: int) -> list[ExamQuestion]:
    """Returns n questions of a data set drawn at random, in the order of the file; all where there are fewer.

    Where n is None it is 300, and MMLU's subjects are taken whole, as they were for MedAgents.
    """
    others = [
        number
        for number, question in enumerate(questions)
        if n is not None or not question.question.id.startswith(_PREFIX)
    ]
    drawn = set(derive(seed, "exam", "sample").sample(others, min(SAMPLE if n is None else n, len(others))))
    left_out = set(others) - drawn
    return [question for number, question in enumerate(questions) if number not in left_out]


def shuffled(question: ExamQuestion, *, seed: int) -> Shuffled:
    """Returns a question with its options in another order, to see whether the answer stays; see `shuffle_options`."""
    other, original = shuffle_options(question.question, seed=seed)
    new = {old: key for key, old in original.items()}
    moved = msgspec.structs.replace(question, question=other, key=tuple(new[key] for key in question.key))
    return Shuffled(question=moved, original=original)


Topic = Literal["respiratory"]


def of_topic(questions: Sequence[ExamQuestion], topic: Topic, dataset: str) -> list[ExamQuestion]:
    """Returns the questions of a data set that are about a topic, in their order.

    A question is known by what it asks, so that it is found in any part of its data set, and in any order.
    """
    known = known_hashes(topic, dataset)
    found = [one for one in questions if hash_of(one.question) in known]
    if not found:
        raise BadInput(f"none of the {len(questions):,} questions is one of the {len(known)} {topic} ones of {dataset}")
    return found


@functools.cache
def known_hashes(topic: Topic, dataset: str) -> dict[str, str]:
    """Returns the hashes of the questions about a topic, each with the question's id in the file as published."""
    lines = (Path(__file__).parent / "data" / f"{dataset}_{topic}.txt").read_text("utf-8").splitlines()
    pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {hashed: id for id, hashed in pairs}


def hash_of(question: Question) -> str:
    """Returns what a question is known by: of its words, in lower case."""
    words = " ".join(re.findall(r"\w+", question.stem.casefold()))
    return hashlib.blake2b(words.encode(), digest_size=6).hexdigest()

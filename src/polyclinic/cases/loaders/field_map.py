"""Any table or JSON records, told by a small file which field is what.

complaint = "chief_complaint"     # a field, "a.b" inside an object, "a+b" several
diagnoses = "final_dx"
age = "age_years"

[history]
present = "hpi"

[findings]                        # "examination" or "examination, item" = field
"chest X-ray" = "cxr"
"complete blood count, hemoglobin" = "hb"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.fields import (
    WORDS,
    age_in_years,
    as_text,
    is_unsaid,
    literal,
    nested_findings,
    read_keys,
    read_options,
    right_options,
    sex_of,
    split_diagnoses,
    split_outside,
    split_points,
    split_value,
)
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.loaders.records import needed_at, place_of, value_at
from polyclinic.cases.presentation import Presentation, Question, Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput, meant
from polyclinic.files import check_file, read_toml, record_as
from polyclinic.language.folding import stands_in
from polyclinic.language.language import Language, language_of
from polyclinic.language.word_lists import Pattern
from polyclinic.yaml_files import read_yaml

_STEM: dict[Language, str] = {"en": "Which of these is right?", "zh": "下列哪一项正确？"}
_SUFFIXES = frozenset({".toml", ".yaml", ".yml"})

_EXAMINATION: dict[Language, str] = {"en": "physical examination", "zh": "体格检查"}
_RIGHT, _MARKED = {"True", "true", "yes", "1"}, {"True", "true", "yes", "1", "False", "false", "no", "0", "None"}

T = TypeVar("T")

_AGES = "write years as a number, or as in 3 weeks, 5岁3个月; leave it empty where nobody knows"
_SEXES = "write female or male, f or m, 女 or 男; leave it empty where nobody knows"


class CaseFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which field of a record is what in a case.

    Names of fields are read by `records.value_at`.
    """

    complaint: str = ""
    diagnoses: str = ""  # several in a list, or numbered or parted in a text; left out, the right options of a question
    vignette: str = ""  # all of it as one text or a list of sentences, in whose beginning are complaint, age and sex
    id: str = ""  # what names a case; its number in the file where it is left out
    age: str = ""  # in years, or as text ("3 weeks old")
    sex: str = ""
    about: str = ""
    department: str = ""
    question: str = ""
    options: str = ""  # of a question; `question` is its text
    answer: str = ""
    treatment: str = ""
    rationale: str = ""
    image: str = ""  # the address of a picture
    history: dict[str, str] = {}  # part of the history (`present`, `past`, ...) to field
    findings: dict[str, str] = {}  # "examination" or "examination, item" to field
    results: str = ""  # results in a text, or in an object by item, or by examination and item
    needs: tuple[str, ...] = ()  # which of these fields must say something too
    # The same for all cases, as a value and no field's name:
    setting: Setting = "ward"
    language: Language | None = None
    stem: dict[Language, str] = {}  # of a question without a text of its own
    source: str = ""


def names_map(layout: str) -> bool:
    """Whether a layout's name is that of a file with a field map."""
    return Path(layout).suffix in _SUFFIXES


def loader_of(path: Path) -> Callable[[dict[str, Any], int], Case]:
    """Returns the layout that a file with a field map describes."""
    check_file(path)
    return _loader(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loader(path: Path, _changed: int) -> Callable[[dict[str, Any], int], Case]:
    try:
        fields = record_as(read_toml(path), CaseFields) if path.suffix == ".toml" else read_yaml(path, CaseFields)
    except BadInput as error:
        there = CaseFields.__struct_fields__
        unknown = re.search(r"unknown field `([^`]*)`", error.problem)
        near = meant(unknown[1], there) if unknown else ""
        problem = f"{error.problem}{near}; a field map has {', '.join(there)}"
        raise BadInput(problem, path=path, line=error.line, field=error.field) from None
    lacking = [] if fields.complaint or fields.vignette else ["complaint"]
    lacking += [] if fields.diagnoses or fields.options else ["diagnoses"]
    if lacking:
        known = ", ".join(CaseFields.__struct_fields__)
        raise BadInput(f"a field map needs `{lacking[0]}`; a field map has {known}", path=path)
    if other := fields.history.keys() - {*History.__struct_fields__}:
        came, there = sorted(other)[0], History.__struct_fields__
        raise BadInput(
            f"the history has no {came!r}{meant(came, there)}; it has {', '.join(there)}", path=path, field="$.history"
        )
    return lambda record, order: _load(record, order, fields)


def _load(record: dict[str, Any], order: int, fields: CaseFields) -> Case:
    complaint = as_text(_needed(record, fields.complaint, "complaint")) if fields.complaint else ""
    vignette = " ".join(_texts(_needed(record, fields.vignette, "vignette"))) if fields.vignette else ""
    for name in fields.needs:
        _needed(record, getattr(fields, name), name)
    identifier = as_text(value_at(record, fields.id)) or str(order)
    told: dict[str, Any] = {part: as_text(value_at(record, field)) for part, field in fields.history.items()}
    if "symptoms" in told:
        listed = literal(value_at(record, fields.history["symptoms"]))
        told["symptoms"] = _texts(listed if isinstance(listed, list) else as_text(listed).replace("；", ";").split(";"))
    history = record_as(told, History)
    options, answers = _options(record, fields)
    diagnoses = _diagnoses(record, fields, options, answers)
    language = fields.language or language_of([complaint or vignette, history.present])
    of_text = record_of_text(vignette, diagnoses).presentation if vignette else Presentation(complaint=complaint)
    question = None
    if options:
        stem = as_text(value_at(record, fields.question)) or fields.stem.get(language, _STEM[language])
        question = Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1)
    findings = []
    for name, field in fields.findings.items():
        if text := as_text(value_at(record, field)):
            (examination, _, item), (value, unit) = name.partition(","), split_value(text)
            findings.append(Finding(examination=examination.strip(), item=item.strip(), value=value, unit=unit))
    image, results = as_text(value_at(record, fields.image)), literal(value_at(record, fields.results))
    return Case(
        id=identifier,
        record=Record(
            presentation=Presentation(
                complaint=complaint or of_text.complaint,
                language=language,
                age=_understood(age_in_years, record, fields.age, "the age", _AGES) if fields.age else of_text.age,
                sex=_understood(sex_of, record, fields.sex, "the sex", _SEXES) if fields.sex else of_text.sex,
                about=as_text(value_at(record, fields.about)),
            ),
            history=history if history.sections() or not vignette else History(present=vignette),
            findings=(*findings, *nested_findings(results, _EXAMINATION[language])),
            vignette=vignette,
        ),
        truth=Truth(
            diagnoses=diagnoses,
            rationale=_points(value_at(record, fields.rationale)),
            treatment=_points(value_at(record, fields.treatment)),
            answers=answers,
        ),
        setting=fields.setting,
        question=question,
        source=fields.source,
        department=as_text(value_at(record, fields.department)),
        attachments=(Attachment(url=image),) if image else (),
    )


def _diagnoses(
    record: dict[str, Any], fields: CaseFields, options: dict[str, str], answers: tuple[str, ...]
) -> tuple[Diagnosis, ...]:
    """Returns the diagnoses; one that is said by the key or the text of an option is that option's."""
    of_options = tuple(Diagnosis(options[key]) for key in answers)
    if not fields.diagnoses:
        return of_options
    value = _needed(record, fields.diagnoses, "diagnosis")
    named = tuple(map(Diagnosis, _texts(value))) if isinstance(value, list) else ()
    if not named and options and set(read_keys(value, options)) == set(answers):
        return of_options
    return named or split_diagnoses(as_text(value))


def _understood(
    read: Callable[[str], T | None], record: dict[str, Any], field: str, what: str, allowed: str
) -> T | None:
    """Returns what a cell says, None of one that says nothing; what is not understood is a `BadInput`, and not lost."""
    text = as_text(value_at(record, field))
    found = read(text)
    if found is None and not is_unsaid(text):
        raise BadInput(f"{what} is {text!r}, which is not understood; {allowed}", field=f"$.{field}")
    return found


def _options(record: dict[str, Any], fields: CaseFields) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the options of a question and the keys of the right ones; nothing where the record has none."""
    value = value_at(record, fields.options)
    if not fields.options or (not as_text(value) and "options" not in fields.needs and fields.diagnoses):
        return {}, ()
    if "+" in fields.options:
        value = [value_at(record, part) for part in fields.options.split("+")]
    options = read_options(_parted(literal(value)), place_of(fields.options))
    given = literal(value_at(record, fields.answer))
    if isinstance(given, list) and len(given) == len(options) and {*map(str, given)} <= _MARKED:
        given = [key for key, mark in zip(options, given, strict=True) if str(mark) in _RIGHT]
    return options, right_options(options, (given,), place_of(fields.answer))


def _parted(value: Any) -> Any:
    """Returns options; those of a line without letters stand between commas or semicolons."""
    if not isinstance(value, str) or "\n" in value:
        return value
    try:
        return read_options(value, "$")
    except BadInput:
        marks = ";；|" if any(mark in value for mark in ";；|") else ",，"
        return [part.strip() for part in split_outside(value, marks) if part.strip()]


def _texts(value: Any) -> list[str]:
    return [text for text in map(as_text, value if isinstance(value, list) else [value]) if text]


def _points(value: Any) -> tuple[str, ...]:
    return tuple(map(as_text, value)) if isinstance(value, list) else split_points(as_text(value))


def _needed(record: dict[str, Any], field: str, what: str) -> Any:
    return needed_at(record, field, f"a case needs its {what}")


# A vignette begins with the complaint. A sentence that says only who the patient is gives its age and sex.
_MOST = 4
"""Sentences in which who it is, is looked for."""

_patterns = WORDS.section("vignettes", dict[str, Pattern])

_CHINESE_MARKS = " ，,、；;。"
_CHINESE_PART = re.compile(r"[，,、；;。]")


def complaint_in(sentences: Sequence[str], language: Language) -> tuple[str, str]:
    """Returns the beginning of a vignette up to what the patient comes with, and that, of the vignette's sentences.

    What it comes with is the first sentence that says more than who it is, with the one before it where that tells of
    something that the patient has ("a woman with diabetes came to the clinic"). Where none says more it is the first.
    """
    for number, sentence in enumerate(sentences[:_MOST]):
        if language == "zh":
            reason = _behind_chinese(sentence)
        else:
            reason = "" if _says_who(_plain(sentence)) else sentence
            if reason and number and _tells_of_history(_plain(sentences[number - 1])):
                reason = f"{sentences[number - 1]} {sentence}"
        if reason:
            return " ".join(sentences[: number + 1]), reason
    return sentences[0], sentences[0]


def _plain(sentence: str) -> str:
    return sentence.strip(" .!?")


def _says_who(sentence: str) -> bool:
    """Whether an English sentence says who the patient is, perhaps that it came, and not with what it came."""
    words = _patterns("en")
    found = words["person"].match(sentence)
    if found is None:
        return False
    rest = sentence[found.end() :].strip()
    while rest.startswith(","):
        part, comma, after = rest[1:].strip().partition(",")
        more = words["more"].match(part.strip())
        if more is None:
            rest = rest[1:].strip()
            break
        rest = part.strip()[more.end() :].strip() + (f"{comma}{after}" if comma else "")
    if not rest or words["comes"].match(rest) or words["no_history"].match(rest):
        return True
    return _tells_of_history(sentence)


def _tells_of_history(sentence: str) -> bool:
    """Whether a sentence names somebody with something that it has, and says of it at most that it came."""
    words = _patterns("en")
    found = words["person"].match(sentence)
    rest = "" if found is None else sentence[found.end() :].strip(" ,")
    if not rest or words["no_history"].match(rest):
        return False
    if words["with_and_comes"].match(rest):
        return True
    attribute = words["with"].match(rest)
    return attribute is not None and not words["finite"].search(attribute["what"])


def _behind_chinese(sentence: str) -> str:
    """Returns what stands in a Chinese sentence behind the parts that say who it is, "" where nothing does."""
    at = 0
    for end in [*(found.start() for found in _CHINESE_PART.finditer(sentence)), len(sentence)]:
        part = sentence[at:end].strip(_CHINESE_MARKS)
        if not _patterns("zh")["person"].fullmatch(part):
            return sentence[at:].lstrip(_CHINESE_MARKS)
        at = end
    return ""


# A full stop behind a title, an initial or "vs" ends no sentence.
_SENTENCE_END = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\b[A-Z])[.!?](?=\s)|[。！？]")


def record_of_text(text: str, diagnoses: tuple[Diagnosis, ...] = ()) -> Record:
    """Returns the record of a vignette."""
    language = language_of([text])
    sentences = sentences_of(text)
    beginning, complaint = complaint_in(sentences, language)
    if stands_in(complaint, diagnosis_terms(diagnoses)):
        beginning = complaint = sentences[0]
    # Who the text is about is said at its beginning; later people are relatives.
    presentation = Presentation(
        complaint=complaint, language=language, age=age_in_years(beginning), sex=sex_of(beginning)
    )
    return Record(presentation=presentation, history=History(present=text), vignette=text)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text, each with the mark that ends it."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(text)), len(text)]
    return [one for at, end in pairwise(ends) if (one := text[at:end].strip())]


class _PublishedFields(CaseFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signs: frozenset[str]


_PUBLISHED = read_yaml(Path(__file__).with_name("layouts.yaml"), dict[str, _PublishedFields])
LAYOUTS = tuple(Layout(name, fields.signs, partial(_load, fields=fields)) for name, fields in _PUBLISHED.items())

"""Prompts as they are sent hold what the papers' tables require, and nothing that gives away truth or metric.

A file of `audit` is one protocol's table: who is asked, the paper's line, what must be told and what must not.
"""

import asyncio
import functools
import re
from pathlib import Path

import msgspec
import pytest
from tests.protocols.sending import GIVEN, RUNS, SLOW, Listening

from polyclinic.yaml_files import parse_yaml

AUDIT = Path(__file__).parent / "audit"
LANGUAGES = ("en", "zh")

METRICS = re.compile(
    r"\b(F1|recall|precision|accuracy|coverage|distinct|inquiry (logic|acc|specific)|win rate|benchmark)\b"
    "|指标|得分|覆盖率",
    re.IGNORECASE,
)
"""What is measured is nobody's business who is measured."""

VERDICTS = {"answer", "answers", "vote", "grade", "verdict", "choice", "label", "relevant", "winner", "better"}
"""What a typed answer must not begin with where it has grounds too: a model writes from left to right."""

NEVER_NULL = re.compile(r"\b(is|as|be) null\b|为\s*null")
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;?!](?=[\u4e00-\u9fff])")


EACH_RUN = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(RUNS)]
)


class Row(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    paper: str
    purpose: str
    must: dict[str, dict[str, str]] = {}
    never: dict[str, dict[str, str]] = {}
    form: list[str] = []
    judge: bool = False  # whoever judges is told the truth, and what is counted


def rows(name):
    return msgspec.convert(parse_yaml((AUDIT / f"{name}.yaml").read_text("utf-8")), list[Row])


@functools.cache
def sent(name, language):
    """Returns what a run sent, and what nobody who plays may be told."""
    model = Listening(GIVEN.get(name))
    secrets = asyncio.run(RUNS[name](language, model))
    return model.sent, secrets or ()


def problems_of(row, calls, language):
    """Yields what is wrong with the calls of a row."""
    mine = [call for call in calls if re.fullmatch(row.purpose, call.purpose)]
    if not mine:
        yield "no such call was sent"
    for call in mine:
        for what, pattern in row.must.items():
            if not re.search(pattern[language], call.text):
                yield f"{call.purpose}: lacks {what} ({pattern[language]!r})"
        for what, pattern in row.never.items():
            if found := re.search(pattern[language], call.text):
                yield f"{call.purpose}: has {what} ({found[0]!r})"
        yield from (f"{call.purpose}: its answer has no {field}" for field in row.form if f'"{field}"' not in call.form)


def test_every_run_has_its_table():
    assert {path.stem for path in AUDIT.glob("*.yaml")} == set(RUNS)


@EACH_RUN
def test_prompts_have_what_the_paper_requires(name):
    found = [
        f"{language}, {row.role} ({row.paper}): {problem}"
        for language in LANGUAGES
        for row in rows(name)
        for problem in problems_of(row, sent(name, language)[0], language)
    ]
    assert not found, "\n".join(found)


@EACH_RUN
def test_every_call_has_a_row(name):
    purposes = {call.purpose for language in LANGUAGES for call in sent(name, language)[0]}
    patterns = [row.purpose for row in rows(name)]
    assert not {purpose for purpose in purposes if not any(re.fullmatch(pattern, purpose) for pattern in patterns)}


@EACH_RUN
def test_nothing_is_given_away_and_the_form_is_kept(name):
    judged = [row.purpose for row in rows(name) if row.judge]
    found = []
    for language in LANGUAGES:
        calls, secrets = sent(name, language)
        for call in calls:
            if not any(re.fullmatch(pattern, call.purpose) for pattern in judged):
                found += [f"{call.purpose}: tells {secret!r}" for secret in secrets if secret in call.text]
                found += [f"{call.purpose}: names the metric {m[0]!r}" for m in METRICS.finditer(call.system)]
            fields = list(msgspec.json.decode(call.form or "{}").get("properties", {}))
            if len(fields) > 1 and fields[0] in VERDICTS:
                found.append(f"{call.purpose}: {fields[0]} comes before its grounds: {', '.join(fields)}")
            if NEVER_NULL.search(call.system):
                found.append(f"{call.purpose}: a field that must be null")
            if call.system.rstrip().endswith((":", "：")):
                found.append(f"{call.purpose}: it ends with a heading that has nothing below it")
            if language == "zh" and (half := HALF_WIDTH.search(call.system)):
                found.append(f"{call.purpose}: {half[0]!r} is no Chinese punctuation")
            if colon := re.search(r"[\u4e00-\u9fff]: ", call.text):
                found.append(f"{call.purpose}: {colon[0]!r} is no Chinese colon")
            if broken := re.search(r"[a-z,]\n[a-z]", call.system):
                found.append(f"{call.purpose}: a line ends inside a sentence: {broken[0]!r}")
    assert not found, "\n".join(found)

"""PubMedQA's layout (Jin et al., arXiv:1909.06146): one object, PubMed id to question, with yes, no or maybe.

The context is the abstract without its conclusion. LONG_ANSWER is that conclusion, and is dropped. A file
`test_ground_truth.json` beside it names the test set, in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON, check_file
from polyclinic.opened_files import read_at_once
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts.checking import text_field

TEST_IDS = "test_ground_truth.json"
_OPTIONS = {"yes": "yes", "no": "no", "maybe": "maybe"}


def is_layout(record: dict[str, Any]) -> bool:
    """Tells whether a file's one object is PubMedQA's."""
    first = next(iter(record.values()))
    return isinstance(first, dict) and {"QUESTION", "CONTEXTS"} <= first.keys()


def read(articles: dict[str, Any], path: Path) -> Iterator[ExamQuestion]:
    """Yields the test questions in the order of the file beside, or all where there is none, or none is of it.

    Raises:
        BadInput: an article lacks a part, or is in the list of the test and not here; names it.
    """
    test = _test_ids(path.with_name(TEST_IDS))
    named = {id: decision for id, decision in test.items() if id in articles}
    if named and len(named) < len(test):
        missing = next(id for id in test if id not in named)
        raise BadInput(f"{TEST_IDS} beside it names {len(test)} articles, of which {missing} and more are not here")
    for id in named or articles:
        article = articles[id]
        if not isinstance(article, dict):
            raise BadInput("an object {...} is needed here", field=f"$.{id}")
        try:
            question = _load(article, id)
        except BadInput as error:
            raise BadInput(error.problem, field=error.field.replace("$", f"$.{id}", 1)) from None
        if named and named[id] != question.key[0]:
            raise BadInput(f"it says {question.key[0]}, and {TEST_IDS} {named[id]!r}", field=f"$.{id}.final_decision")
        yield question


def _load(article: dict[str, Any], id: str) -> ExamQuestion:
    contexts = article.get("CONTEXTS")
    if not isinstance(contexts, list) or not contexts or not all(isinstance(part, str) for part in contexts):
        raise BadInput("a list of paragraphs is needed here", field="$.CONTEXTS")
    decision = text_field(article, "final_decision")
    if decision not in _OPTIONS:
        raise BadInput(f"the decision is {decision!r}; it is one of {', '.join(_OPTIONS)}", field="$.final_decision")
    question = Question(
        id=id,
        stem=text_field(article, "QUESTION"),
        options=dict(_OPTIONS),
        context="\n\n".join(map(str.strip, contexts)),
    )
    return ExamQuestion(question=question, key=(decision,))


def _test_ids(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    check_file(path)
    try:
        return msgspec.json.decode(read_at_once(path), type=dict[str, str])
    except NO_JSON as error:
        raise BadInput(f"the list of the test set is no object of ids and decisions ({error})", path=path) from None
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None

"""What one person says of one item, and files of such verdicts as CSV or JSON lines.

A row has the form's name (`form`), the item's keys, `who`, and a field for each question; also `comment` and what the
sheet shows. Unanswered questions, and rows without any answer, are left out. The separator in CSV is a comma, semicolon
or tab. When two doctors are compared, they are named in alphabetical order.

Files that we write have the same `sum` in each row, which reveals missing or changed rows. Remove it to change a file
on purpose.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.loaders.reader import read_rows
from polyclinic.errors import BadInput, UserError
from polyclinic.files import check_file, json_lines, read_records
from polyclinic.frames import cell_text, csv_text
from polyclinic.seals import seal
from polyclinic.statistics.agreement import Level
from polyclinic.yaml_files import read_yaml

Answer = str | float  # one of the words that count, or a number on a scale
Item = tuple[str, ...]  # what names an item: the values of its form's keys, in their order
PAIR = ("first", "second")


class Answers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may be answered: the words that count, with others that mean the same; or a scale's ends."""

    answers: dict[str, tuple[str, ...]] = {}
    scale: tuple[float, float] | None = None
    level: Level = "nominal"
    counted: bool = False  # how often each word is the answer is a figure

    def read(self, said: str) -> Answer | None:
        """Returns the answer that somebody wrote; None where it is none."""
        if self.scale is not None:
            try:
                number = float(said.strip().replace(",", "."))
            except ValueError:
                return None
            low, high = self.scale
            return number if low <= number <= high else None
        word = said.strip().casefold()
        return next((one for one, same in self.answers.items() if word in (one.casefold(), *same)), None)

    @property
    def order(self) -> tuple[str, ...]:
        """The words that count, the least first."""
        return tuple(self.answers)

    @property
    def allowed(self) -> str:
        """What may be answered, in words."""
        return f"{self.scale[0]:g} to {self.scale[1]:g}" if self.scale is not None else " | ".join(self.answers)


class SheetQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question in both languages, and what may be answered."""

    en: str
    zh: str
    answers: Answers  # what may be answered


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of the items where other questions have these answers, those where a question has an answer."""

    question: str
    answer: str = "yes"
    where: dict[str, str] = {}

    def of(self, items: Iterable[Mapping[str, Answer]]) -> list[bool]:
        """Returns which of the items have it, of those that are counted."""
        asked = (one for one in items if self.question in one and self.where.items() <= one.items())
        return [one[self.question] == self.answer for one in asked]


class SheetForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of one sort of item."""

    source: str  # where it comes from
    keys: tuple[str, ...]  # what names an item
    shown: tuple[str, ...]  # what stands beside the questions in a sheet, and is never read back
    questions: dict[str, SheetQuestion]
    third: bool = False  # a third person decides where two differ; agreement is of the first two
    shares: dict[str, Share] = {}
    counts: dict[str, Share] = {}
    whole: str = ""  # the name of the share of items of which no question is answered "no"

    @property
    def is_pair(self) -> bool:
        """Whether two doctors are compared."""
        return self.keys[1:] == PAIR

    def in_order(self, item: Item) -> Item:
        """Returns an item as verdicts name it: two doctors in the order of the alphabet."""
        return (item[0], *sorted(item[1:])) if self.is_pair else item

    def row(self, name: str, item: Item) -> dict[str, Any]:
        """Returns how a row of a file names the form and the item."""
        return {"form": name, **dict(zip(self.keys, item, strict=True))}


@functools.cache
def forms() -> Mapping[str, SheetForm]:
    """Returns the forms by name."""
    return read_yaml(Path(__file__).with_name("forms.yaml"), dict[str, SheetForm])


def form_named(name: str) -> SheetForm:
    """Returns a form."""
    if name not in forms():
        raise UserError(f"no form {name!r}; there are: {', '.join(forms())}")
    return forms()[name]


_SUM = "sum"
_BESIDE = ("form", "who", "comment", _SUM)
_NAMED = 6
_MENDS = f"where that was done on purpose, take the field {_SUM!r} away"

TABLES = {".csv": ",", ".tsv": "\t"}  # what parts the fields of a table, by the ending of its file
TURNED: dict[Answer, Answer] = {
    "first": "second",
    "second": "first",
}  # answers with the two doctors the other way round


class PersonsVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one person says of one item; without the questions that were not answered."""

    form: str
    item: Item
    who: str
    answers: dict[str, Answer]
    comment: str = ""

    def row(self) -> dict[str, Any]:
        """Returns it as a line of a file."""
        form = form_named(self.form)
        row = form.row(self.form, self.item) | {"who": self.who}
        row |= {question: self.answers.get(question) for question in form.questions}
        return row | ({"comment": self.comment} if self.comment else {})


Known = Mapping[str, Collection[Item]]  # the items that can be spoken of, by form


Key = Mapping[str, Mapping[Item, Item]]
"""Who is who in blind sheets, by form: the item with codes in it, and the same with the doctors."""

_NOBODY: Key = {}
BLIND = "blind-"  # how the code begins that stands for a doctor in a blind sheet


def read_verdicts(
    paths: Iterable[str | Path],
    *,
    form: str | None = None,
    known: Known | None = None,
    key: Key | None = None,
    bad: list[BadInput] | None = None,
) -> list[PersonsVerdict]:
    """Reads the verdicts of one or several files, in their order; `.csv` and `.tsv` are tables, all else JSON lines.

    `form` is that of rows that do not name theirs, `known` has the items of each form that may be judged, and `key`
    says who is who in blind sheets. With a list for `bad` rows, those that cannot be used go there and are left out; if
    one person has two verdicts on one item, both are.
    """
    verdicts: dict[tuple[str, Item, str], tuple[PersonsVerdict, Path, int]] = {}
    twice: set[tuple[str, Item, str]] = set()

    def report(error: BadInput) -> None:
        if bad is None:
            raise error
        bad.append(error)

    for path in map(Path, paths):
        sealed: dict[str, list[PersonsVerdict]] = {}
        for line, row in rows_of(path, bad=bad):
            try:
                verdict = verdict_of(row, form, key or {})
                if verdict is None:
                    continue
                if told_sum := _text(row.get(_SUM)):
                    sealed.setdefault(told_sum, []).append(verdict)
                if known is not None and verdict.form in known:
                    _check_item(verdict, known[verdict.form])
                whose = (verdict.form, verdict.item, verdict.who)
                if whose in verdicts:
                    twice.add(whose)
                    _, other, first = verdicts[whose]
                    where = f"line {first}" if other == path else f"{other}, line {first},"
                    item = form_named(verdict.form).row(verdict.form, verdict.item).items()
                    told = ", ".join(f"{name} {value}" for name, value in [*item][1:])
                    raise BadInput(f"{verdict.who}'s verdict on {told} stands in {where} already; leave one of them")
                verdicts[whose] = (verdict, path, line)
            except BadInput as error:
                report(BadInput(error.problem, path=path, line=line))
        if any(_sum(rows) != told_sum for told_sum, rows in sealed.items()):
            report(BadInput(f"not what was written: a row is missing or changed; {_MENDS}", path=path))
            verdicts = {whose: said for whose, said in verdicts.items() if said[1] != path}
    return [verdict for whose, (verdict, _, _) in verdicts.items() if whose not in twice]


def _sum(verdicts: Sequence[PersonsVerdict]) -> str:
    # Of what they say, and not of how it is written: a table keeps no blank lines, and knows no numbers.
    verdicts = [one for one in verdicts if one.answers]
    said = [
        (one.form, one.item, one.who.strip(), {name: _text(answer) for name, answer in sorted(one.answers.items())})
        for one in verdicts
    ]
    comments = [" ".join(one.comment.split()) for one in verdicts]
    # With a letter before it a spreadsheet takes it for no number.
    return f"v{seal(repr((said, comments)).encode()).hex()}"


def write_verdicts(verdicts: Iterable[PersonsVerdict], ending: str) -> str:
    """Returns verdicts as the text of a file with that ending, `.csv`, `.tsv` or another for JSON lines."""
    verdicts = list(verdicts)
    beside = {_SUM: _sum(verdicts)}
    rows = [verdict.row() | beside for verdict in verdicts]
    return table_text(rows, ending) if ending in TABLES else json_lines(rows)


def table_text(rows: Sequence[Mapping[str, Any]], ending: str = ".csv") -> str:
    """Returns rows as a table; a `.csv` that is not ASCII begins with a byte-order mark, for spreadsheets."""
    written = csv_text(list(dict.fromkeys(field for row in rows for field in row)), rows, TABLES[ending])
    return written if written.isascii() or ending != ".csv" else f"\ufeff{written}"


def rows_of(path: Path, *, bad: list[BadInput] | None = None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the rows of a file with their line numbers; rows that cannot be read are added to `bad`, if given."""
    if path.suffix not in TABLES:
        kind = dict[str, str | int | float | bool | None]
        yield from read_records(path, kind, "a verdict", keys_once=True, bad=bad)
        return
    check_file(path)
    # What a spreadsheet writes depends on where its user lives.
    rows = read_rows(path, delimiters=",;\t")
    _, names = next(rows, (0, []))
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise BadInput(f"two columns are named {twice[0]!r}; each stands once", path=path, line=1)
    for number, cells in rows:
        if len(cells) <= len(names):
            yield number, dict(zip(names, map(cell_text, cells), strict=False))
            continue
        long = BadInput("more fields than the heading has", path=path, line=number)
        if bad is None:
            raise long
        bad.append(long)


def verdict_of(row: Mapping[str, Any], default: str | None = None, key: Key = _NOBODY) -> PersonsVerdict | None:
    """Returns the verdict of a row, of the `default` form where it names none; None where no question is answered."""
    said = {str(field).strip(): _text(value) for field, value in row.items() if field is not None}
    said["who"] = said.get("who") or said.pop("rater", "")  # as files of marks call it
    name = said.get("form") or default
    if not name:
        raise BadInput(f"no 'form'; name one in the row, or with --form: {', '.join(forms())}")
    if name not in forms():
        raise BadInput(f"no form {name!r}; there are: {', '.join(forms())}")
    form = forms()[name]
    if missing := [key for key in form.keys if not said.get(key)]:
        raise BadInput(f"no {missing[0]!r}; an item of {name!r} has {', '.join(form.keys)}")
    fields = (*_BESIDE, *form.keys, *form.shown, *form.questions)
    if unknown := [field for field in said if field and field not in fields]:
        raise BadInput(f"{unknown[0][:40]!r} is no field of {name!r}; its questions are {', '.join(form.questions)}")
    answers: dict[str, Answer] = {}
    for question, asked in form.questions.items():
        if written := said.get(question, ""):
            answer = asked.answers.read(written)
            if answer is None:
                raise BadInput(f"{written[:40]!r} is no answer to {question!r}; allowed: {asked.answers.allowed}")
            answers[question] = answer
    if not answers:
        return None
    if not said.get("who"):
        raise BadInput("nobody says it: 'who' is empty; write a name in each row")
    item = shown_as(name, tuple(said[one] for one in form.keys), key)
    if item != form.in_order(item):
        item, answers = form.in_order(item), {question: TURNED.get(one, one) for question, one in answers.items()}
    return PersonsVerdict(form=name, item=item, who=said["who"], answers=answers, comment=said.get("comment", ""))


def shown_as(form: str, item: Item, key: Key) -> Item:
    """Returns an item with the doctors for whom codes stand in it."""
    if not any(name.startswith(BLIND) for name in item[1:]):
        return item
    if item not in key.get(form, {}):
        raise BadInput(f"{item[1]!r} is a code of a blind sheet; 'verdicts import --key FILE' says who it is")
    return key[form][item]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value).strip()


def _check_item(verdict: PersonsVerdict, items: Collection[Item]) -> None:
    """Raises a BadInput where a verdict is on something that is not there, and says which of its keys is wrong."""
    for place, key in enumerate(form_named(verdict.form).keys):
        there = dict.fromkeys(item[place] for item in items if item[:place] == verdict.item[:place])
        if verdict.item[place] not in there:
            names = [*there]
            shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            raise BadInput(f"no {key} {verdict.item[place]!r} to speak of; there are: {shown or 'none'}")

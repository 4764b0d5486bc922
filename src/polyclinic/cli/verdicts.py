"""`polyclinic verdicts`: sheets for people to fill in, what they said, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.people import show_agreement, show_figures
from polyclinic.files import check_writable, json_lines, write_text
from polyclinic.judging.people import agreed, disputed, figures
from polyclinic.judging.sheets import (
    DEPARTMENTS,
    RECORDS,
    Material,
    blinded,
    check_needed,
    read_key,
    rows_to_fill,
    sheet_of,
)
from polyclinic.judging.verdicts import (
    TABLES,
    Key,
    Known,
    PersonsVerdict,
    form_named,
    read_verdicts,
    rows_of,
    shown_as,
    table_text,
    write_verdicts,
)
from polyclinic.questions.layouts import read_exam
from polyclinic.run import options
from polyclinic.run.case_files import read_case_file
from polyclinic.seeds import derive
from polyclinic.terminal.screen import console, note, present
from polyclinic.terminal.tables import counted

_STRICT = Parameter(negative=(), help="Stop at an unusable record instead of naming, counting and skipping it.")
_NAMED = 8
Files = Annotated[list[Path], Parameter(metavar="FILE...", help="Verdicts: .csv, .tsv, or JSON lines.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class VerdictOptions:
    """Which verdicts are read."""

    form: Annotated[str | None, Parameter(metavar="FORM")] = None
    """The form of rows that do not name one."""
    items: Annotated[list[Path] | None, options.Several, Parameter(metavar="FILE...")] = None
    """The sheets that were handed out; verdicts on anything else are left out."""
    key: Annotated[list[Path] | None, options.Several, Parameter(metavar="FILE...")] = None
    """The keys of blind sheets, which name the doctors behind the codes."""
    strict: Annotated[options.Strict, _STRICT] = False

    def read(self, files: Sequence[Path]) -> list[PersonsVerdict]:
        """Returns the verdicts, on the items of the sheets and keys if any are named; names what is left out."""
        key = read_key(self.key or ())
        known = _known(self.items or (), key) if self.items or self.key else None
        bad: list[BadInput] | None = None if self.strict else []
        verdicts = read_verdicts(files, form=self.form, known=known, key=key, bad=bad)
        if not verdicts and bad:
            raise bad[0]
        _note_bad(bad, "row")
        if not verdicts:
            raise BadInput("no verdict in it: every row is without an answer", path=files[0])
        return verdicts


ALL_VERDICTS = VerdictOptions()


def export(
    form: Annotated[str, Parameter(metavar="FORM")],
    files: Annotated[list[Path] | None, Parameter(metavar="FILE...")] = None,
    /,
    *,
    to: Annotated[Path, options.FILE, Parameter(name=("--out", "--to"))],
    cases: Annotated[str | None, options.FILE, options.CASE_FILE] = None,
    layout: options.LayoutOption = None,
    strict: Annotated[options.Strict, _STRICT] = False,
    questions: Annotated[Path | None, options.FILE] = None,
    who: Annotated[list[str] | None, options.Several, Parameter(metavar="NAME...")] = None,
    disputed_in: Annotated[list[Path] | None, options.Several, Parameter(metavar="FILE...")] = None,
    departments: Annotated[int, options.POSITIVE] = DEPARTMENTS,
    each: Annotated[int, options.POSITIVE] = RECORDS,
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Writes a sheet of what people are to judge, and prints the questions.

    Sheets of two doctors are blind: codes stand for the doctors, and FILE.key.csv beside the sheet says who is who.

    Args:
        form: What is asked: 'pairs doctor' and 'pairs patient' (two dialogues), rounds (a doctor's turn and its
            answer), records, grades (a report, as the director), explanations, failures (why a diagnosis missed),
            errors (why an answer is wrong).
        files: What is judged: traces, or files of outcomes; of records none.
        to: The sheet: .csv, .tsv, or else JSON lines.
        questions: The file of questions, or MMLU's folder, for the form 'errors'.
        who: People who fill in a sheet each; their names are added to the file's.
        disputed_in: Verdicts of two people; only their disagreements are asked of a third.
        departments: Number of departments, for the form 'records'.
        each: Number of records of each department.
    """
    bad: list[BadInput] | None = None if strict else []
    files = files or []
    check_needed(form, files)
    material = Material(files=files, departments=departments, each=each, seed=seed, bad=bad)
    if form == "errors":
        if questions is None:
            raise UserError("'errors' shows the questions: name the file that was asked with --questions")
        material = replace(material, questions={one.question.id: one for one in read_exam(questions)})
    else:
        if cases is None:
            raise UserError(f"{form!r} shows the record: name the case file with --cases")
        known = read_case_file(shipped_path(cases), layout=layout, strict=strict)
        material = replace(material, cases={case.id: case for case in known})
    items = sheet_of(form, material)
    _note_bad(bad, "visit")
    asked = form_named(form)
    if disputed_in:
        wanted = set(disputed(read_verdicts(disputed_in, form=form), form))
        items = {item: shown for item, shown in items.items() if asked.in_order(item) in wanted}
        if not items:
            raise UserError("nothing is in dispute there that stands in these files; no sheet is needed")
    if not items:
        raise bad[0] if bad else UserError("there is nothing to judge in these files")
    screen = console()
    if asked.is_pair:
        items, key = blinded(form, items, seed=seed)
        path = to.with_name(f"{to.stem}.key.csv")
        _write(path, key, force=force)
        told = f"key: {path!s}, for 'verdicts import --key' and not for who judges"
        screen.print(told, soft_wrap=True)
    for name in who or [""]:
        path = to.with_name(f"{to.stem}.{name}{to.suffix}") if name else to
        rows = rows_to_fill(form, items, name)
        if asked.is_pair:
            derive(seed, "order", form, name).shuffle(rows)
        _write(path, rows, force=force)
        screen.print(f"{counted(len(rows), 'item')}: {path!s}", soft_wrap=True)
    screen.print()
    for question, one in asked.questions.items():
        screen.print(f"{question}: {one.en} {one.zh}  [{one.answers.allowed}]", soft_wrap=True)


def _write(path: Path, rows: Sequence[Mapping[str, Any]], *, force: bool) -> None:
    options.check_new(path, force=force)
    check_writable(path)
    write_text(path, table_text(rows, path.suffix) if path.suffix in TABLES else json_lines(rows))


def _note_bad(bad: Sequence[BadInput] | None, what: str) -> None:
    """Names what is left out on stderr, and says how much it is."""
    if bad:
        for told in list(dict.fromkeys(map(str, bad)))[:_NAMED]:
            note(f"left out: {told}")
        note(f"{counted(len(bad), what)} left out; --strict stops instead")


def import_verdicts(
    files: Files,
    /,
    *,
    to: Annotated[Path, options.FILE, Parameter(name=("--out", "--to"))],
    read: VerdictOptions = ALL_VERDICTS,
    force: options.Force = False,
) -> None:
    """Reads what people filled in, checks it, and writes it into one file.

    Args:
        to: File to write: .csv, .tsv, or else JSON lines.
    """
    if read.form is not None:
        form_named(read.form)
    if not read.items and not read.key:
        raise UserError(
            "what can be judged is not known: name the sheets that went out, --items, or a blind one's --key"
        )
    options.check_new(to, force=force)
    check_writable(to)
    verdicts = read.read(files)
    write_text(to, write_verdicts(verdicts, to.suffix))
    people = ", ".join(dict.fromkeys(one.who for one in verdicts))
    console().print(f"{counted(len(verdicts), 'verdict')} of {people}: {to}", soft_wrap=True)


def agreement(
    files: Files,
    /,
    *,
    read: VerdictOptions = ALL_VERDICTS,
    seed: options.BootstrapSeed = 0,
    json: options.Json = False,
) -> None:
    """Prints how far people agree, question by question, and what their verdicts come to."""
    verdicts = read.read(files)
    documents = {
        name: {"agreement": agreed(verdicts, name, seed=seed), "figures": figures(verdicts, name, seed=seed)}
        for name in dict.fromkeys(verdict.form for verdict in verdicts)
    }

    def show(screen: Console, documents: Mapping[str, Any]) -> None:
        for name, one in documents.items():
            show_agreement(screen, name, one["agreement"])
            show_figures(screen, one["figures"])

    present(documents, show, json=json)


def _known(sheets: Sequence[Path], key: Key) -> Known:
    """Returns the items of sheets, whether or not anybody has filled them in, and of keys."""
    known: dict[str, dict[tuple[str, ...], None]] = {
        form: {form_named(form).in_order(item): None for item in theirs.values()} for form, theirs in key.items()
    }
    for path in sheets:
        for line, row in rows_of(path):
            name = str(row.get("form", ""))
            form = form_named(name)
            try:
                item = shown_as(name, tuple(str(row.get(one, "")) for one in form.keys), key)
            except BadInput as error:
                raise BadInput(error.problem, path=path, line=line) from None
            known.setdefault(name, {})[form.in_order(item)] = None
    return known

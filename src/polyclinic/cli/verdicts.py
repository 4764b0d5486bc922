"""`polyclinic verdicts`: sheets for people to fill in, what they said, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli import options
from polyclinic.cli.people import show_agreement, show_figures
from polyclinic.errors import BadInput, UserError
from polyclinic.files import check_writable, json_lines, write_text
from polyclinic.questions.layouts import read_exam
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import counted
from polyclinic.verdicts.forms import form_named
from polyclinic.verdicts.people import agreed, disputed
from polyclinic.verdicts.results import figures
from polyclinic.verdicts.sheets import (
    DEPARTMENTS,
    RECORDS,
    Sheet,
    check_needed,
    errors_sheet,
    sheet_of,
)
from polyclinic.verdicts.verdict import (
    PAIR,
    TABLES,
    Known,
    PersonsVerdict,
    in_order,
    read_verdicts,
    rows_of,
    table_text,
    write_verdicts,
)

FormName = Annotated[
    str,
    Parameter(
        metavar="FORM",
        help="What is asked: 'pairs doctor' and 'pairs patient' (two dialogues), rounds (a doctor's turn and its "
        "answer), records, grades (a report, as the director), explanations, failures (why a diagnosis missed), errors "
        "(why an answer is wrong).",
    ),
]
Files = Annotated[list[Path], Parameter(metavar="FILE...", help="Verdicts: .csv, .tsv, or JSON lines.")]


def export(
    form: FormName,
    files: Annotated[
        list[Path] | None,
        Parameter(metavar="FILE...", help="What is judged: traces, or files of outcomes; of records none."),
    ] = None,
    /,
    *,
    to: Annotated[Path, options.FILE, Parameter(help="The sheet: .csv, .tsv, or else JSON lines.")],
    cases: Annotated[str | None, options.FILE, options.CASE_FILE] = None,
    layout: options.Layout = None,
    questions: Annotated[
        Path | None, options.FILE, Parameter(help="Of errors: the file of questions that was asked, or MMLU's folder.")
    ] = None,
    who: Annotated[
        list[str] | None,
        options.Several,
        Parameter(metavar="NAME...", help="Who fills it in: a sheet each, NAME before the ending of its file."),
    ] = None,
    disputed_in: Annotated[
        list[Path] | None,
        options.Several,
        Parameter(metavar="FILE...", help="Only what people disagree on in these verdicts: for a third person."),
    ] = None,
    departments: Annotated[
        int, options.POSITIVE, Parameter(help="Of records: from so many departments.")
    ] = DEPARTMENTS,
    each: Annotated[int, options.POSITIVE, Parameter(help="Of records: so many of each department.")] = RECORDS,
    seed: Annotated[options.Seed, Parameter(help="Of what is drawn, and of which doctor stands first.")] = 0,
    force: options.Force = False,
) -> None:
    """Writes a sheet of what people are to judge, and prints the questions."""
    if form == "errors":
        sheet = _errors(files or [], questions)
    else:
        sheet = _sheet(form, files or [], cases, layout, departments=departments, each=each, seed=seed)
    if disputed_in:
        sheet = sheet.only(_either_way(disputed(read_verdicts(disputed_in, form=form), form)))
        if not sheet.items:
            raise UserError("nothing is in dispute there that stands in these files; no sheet is needed")
    if not sheet.items:
        raise UserError("there is nothing to judge in these files")
    screen = console()
    for name in who or [""]:
        path = to.with_name(f"{to.stem}.{name}{to.suffix}") if name else to
        options.check_new(path, force=force)
        check_writable(path)
        rows = sheet.rows(name)
        write_text(path, table_text(rows, path.suffix) if path.suffix in TABLES else json_lines(rows))
        screen.print(f"{counted(len(rows), 'item')}: {plain(str(path))}", soft_wrap=True)
    screen.print()
    for question, asked in form_named(form).questions.items():
        screen.print(plain(f"{question}: {asked.en} {asked.zh}  [{asked.answers.allowed}]"), soft_wrap=True)


def import_verdicts(
    files: Files,
    /,
    *,
    to: Annotated[Path, options.FILE, Parameter(help="Write them here: .csv, .tsv, or else JSON lines.")],
    form: Annotated[str | None, Parameter(metavar="FORM", help="Of rows that do not name their form.")] = None,
    items: Annotated[
        list[Path] | None,
        options.Several,
        Parameter(metavar="FILE...", help="The sheets that were filled in: what is not in them is refused."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Reads what people filled in, checks it, and writes it into one file."""
    if form is not None:
        form_named(form)
    options.check_new(to, force=force)
    check_writable(to)
    verdicts = _read(files, form, _known(items) if items else None)
    write_text(to, write_verdicts(verdicts, to.suffix))
    people = ", ".join(dict.fromkeys(one.who for one in verdicts))
    console().print(plain(f"{counted(len(verdicts), 'verdict')} of {people}: {to}"), soft_wrap=True)


def agreement(
    files: Files,
    /,
    *,
    form: Annotated[str | None, Parameter(metavar="FORM", help="Of rows that do not name their form.")] = None,
    items: Annotated[
        list[Path] | None,
        options.Several,
        Parameter(metavar="FILE...", help="The sheets that were filled in: what is not in them is refused."),
    ] = None,
    seed: options.BootstrapSeed = 0,
    json: options.Json = False,
) -> None:
    """Prints how far people agree, question by question, and what their verdicts come to."""
    verdicts = _read(files, form, _known(items) if items else None)
    found = list(dict.fromkeys(verdict.form for verdict in verdicts))
    if json:
        print_json({name: _document(verdicts, name, seed) for name in found})
        return
    screen = console()
    for name in found:
        show_agreement(screen, name, agreed(verdicts, name, seed=seed))
        show_figures(screen, figures(verdicts, name, seed=seed))


def _document(verdicts: Sequence[PersonsVerdict], form: str, seed: int) -> dict[str, Any]:
    return {"agreement": agreed(verdicts, form, seed=seed), "figures": figures(verdicts, form, seed=seed)}


def _read(files: Sequence[Path], form: str | None, known: Known | None) -> list[PersonsVerdict]:
    verdicts = read_verdicts(files, form=form, known=known)
    if not verdicts:
        raise BadInput("no verdict in it: every row is without an answer", path=files[0])
    return verdicts


def _known(sheets: Sequence[Path]) -> Known:
    """Returns the items of sheets, whether or not anybody has filled them in."""
    known: dict[str, dict[tuple[str, ...], None]] = {}
    for row in (row for path in sheets for _, row in rows_of(path)):
        name = str(row.get("form", ""))
        keys = form_named(name).keys
        item = tuple(str(row.get(key, "")) for key in keys)
        known.setdefault(name, {})[in_order(item) if keys[1:] == PAIR else item] = None
    return known


def _either_way(items: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [*items, *((item[0], *item[:0:-1]) for item in items)]


def _errors(files: Sequence[Path], questions: Path | None) -> Sheet:
    """Returns the sheet of wrong answers; says what it needs."""
    if not files:
        raise UserError("nothing to judge: 'errors' needs files of outcomes")
    if questions is None:
        raise UserError("'errors' shows the questions: name the file that was asked with --questions")
    return errors_sheet(files, {one.question.id: one for one in read_exam(questions)})


def _sheet(
    form: str,
    files: Sequence[Path],
    cases: str | None,
    layout: str | None,
    *,
    departments: int,
    each: int,
    seed: int,
) -> Sheet:
    """Returns the sheet of a form; says which of files and cases it needs."""
    check_needed(form, files)
    if cases is None:
        raise UserError(f"{form!r} shows the record: name the case file with --cases")
    known = {case.id: case for case in read_cases(shipped_path(cases), layout=layout)}
    return sheet_of(form, files, known, departments=departments, each=each, seed=seed)

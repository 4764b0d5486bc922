"""`polyclinic knowledge`: a disease as a page, and the checks of the knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cli.disease_page import DiseasePage
from polyclinic.cli.options import Json, Seed, between
from polyclinic.errors import BadInput
from polyclinic.generation.knowledge_check import KnowledgeChecked, check_all
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import Language
from polyclinic.terminal.screen import console, plain, print_json, progress
from polyclinic.terminal.tables import counted, table

_NEAR = 5  # names that are offered in place of one that nothing has


def show(
    disease: Annotated[
        str,
        Parameter(metavar="DISEASE", help="A disease by id, by name or synonym in either language, or by ICD-10 code."),
    ],
    /,
    *,
    language: Annotated[Language, Parameter(help="Language of the page.")] = "en",
    json: Json = False,
) -> None:
    """Prints a disease as a page."""
    knowledge = read_knowledge()
    found = disease_meant(disease, knowledge)
    if json:
        print_json(msgspec.to_builtins(found))
    else:
        DiseasePage(found, knowledge, language).show(console())


def disease_meant(text: str, knowledge: Knowledge) -> Disease:
    """Returns the disease that an id, a name in either language or an ICD-10 code means.

    Raises:
        BadInput: none, or several; says which are near.
    """
    wanted = " ".join(text.split()).casefold()
    if wanted in knowledge.diseases:
        return knowledge.diseases[wanted]
    named = knowledge.disease_named(wanted)
    if named is not None:
        return named
    diseases = knowledge.diseases.values()
    coded = [d for d in diseases if wanted in {c.casefold() for c in (d.icd10, *d.severity_icd10.values())}]
    coded = coded or [d for d in diseases if wanted and d.icd10.casefold().startswith(f"{wanted}.")]
    if len(coded) == 1:
        return coded[0]
    if coded:
        raise BadInput(f"{text!r} is the code of {len(coded)} diseases; name one: {', '.join(d.id for d in coded)}")
    near = list(dict.fromkeys(_near(wanted, knowledge)))[:_NEAR]
    offered = f"near are: {', '.join(near)}" if near else "polyclinic knowledge show takes an id, a name or a code"
    raise BadInput(f"no disease {text!r}; {offered}")


def _near(wanted: str, knowledge: Knowledge) -> Iterator[str]:
    """Yields the ids of diseases one of whose names holds, or is like, what is wanted."""
    names = {name.casefold(): d.id for d in knowledge.diseases.values() for name in (d.id, *d.names())}
    beginnings = (id for name, id in names.items() if any(word.startswith(wanted) for word in name.split()))
    if len(wanted) > 1:
        yield from beginnings
        yield from (id for name, id in names.items() if wanted in name)
    yield from (names[name] for name in get_close_matches(wanted, names, n=_NEAR, cutoff=0.5))
    words = {word for word in wanted.split() if len(word) > 3}
    yield from (id for name, id in names.items() if words.intersection(name.split()))


def check(
    *,
    patients: Annotated[int, between(1, 1_000_000), Parameter(help="How many patients to draw.")] = 2000,
    diseases: Annotated[
        str,
        Parameter(metavar="NAMES", help="'all', or departments, disease names or ICD-10 codes, separated by commas."),
    ] = "all",
    seed: Annotated[Seed, Parameter(help="Of the patients.")] = 0,
    json: Json = False,
) -> int:
    """Prints what every check tried and what failed; the exit code is 1 where one fails."""
    whole = read_knowledge()
    with progress("checking", patients, quiet=json) as advance:
        checked = check_all(whole.select(diseases), n=patients, seed=seed, whole=whole, advance=advance)
    if json:
        print_json(msgspec.to_builtins(checked))
    else:
        _show(console(), checked)
    return int(bool(checked.failing))


def _show(screen: Console, checked: KnowledgeChecked) -> None:
    shown = table(None, ("check", "", "tried", "failed"), right=("tried", "failed"))
    for name, tally in checked.checks.items():
        sign = Text("✗", style="red") if tally.failed else Text("✓", style="green") if tally.tried else Text("–")
        shown.add_row(Text(name), sign, str(tally.tried), str(tally.failed))
    screen.print(shown)
    for name in checked.failing:
        tally = checked.checks[name]
        screen.print(Text(f"\n{name}: {tally.failed} of {tally.tried}", style="bold"))
        for example in tally.examples:
            screen.print(Text(f"  {plain(example)}"), soft_wrap=True)
    failing = len(checked.failing)
    outcome = f"{failing} of {counted(len(checked.checks), 'check')} failed" if failing else "every check holds"
    screen.print(Text(f"\n{counted(checked.patients, 'patient')}: {outcome}", style="bold"))

"""`polyclinic demo`: what a stranger sees first."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer


def demo(
    seed: Annotated[int, typer.Option(help="The same seed gives the same visits.")] = 0,
) -> None:
    """Consult the cases that come with polyclinic, and say what to try next."""
    from pathlib import Path

    from polyclinic.cases.loaders import read_cases
    from polyclinic.cases.shipped import SHIPPED
    from polyclinic.cli.consult import see_all, show_visits
    from polyclinic.cli.output import console
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.players.minds import Minds

    screen = console()
    knowledge = read_knowledge()
    cases = list(read_cases(SHIPPED["shipped"]))
    screen.print("polyclinic: doctors practise on simulated patients. Research and teaching only, never care.\n")
    names = ", ".join(d.name.en for d in knowledge.diseases.values())
    screen.print(
        f"{len(cases)} simulated patients, drawn from the shipped medical knowledge ({names}). The doctor, the patient "
        "and the examiner are the built-in 'rules' minds: no model, no key, no network.\n",
        soft_wrap=False,
    )
    minds = Minds(doctor="rules", patient="rules", knowledge=knowledge, seed=seed)
    visits, _ = asyncio.run(see_all(cases, minds))
    show_visits(screen, visits, knowledge)
    program = Path(sys.argv[0])
    if not program.is_absolute():
        command = str(program)
    else:
        here = Path.cwd()
        command = str(program.relative_to(here)) if program.is_relative_to(here) else program.name
    screen.print("\nTry next:")
    for line, what in (
        (f"consult --case shipped#{cases[0].id}", "watch one visit, then the report beside the truth"),
        (f"consult --case shipped#{cases[0].id} --json", "the same for a program"),
        ("consult --case shipped-zh", "the same diseases, in Chinese"),
        ("cases generate --n 100 --seed 7 --out patients.jsonl", "draw your own patients"),
        ("cases check --ceiling", "how well these diseases can be told apart at all"),
    ):
        screen.print(f"  {command} {line}", style="bold cyan", soft_wrap=True)
        screen.print(f"      {what}")

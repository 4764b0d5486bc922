"""`polyclinic demo`: what a stranger sees first."""

from __future__ import annotations

import msgspec

from polyclinic import stopping
from polyclinic.cli.run_progress import watching
from polyclinic.cli.run_tables import show_run
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.running import document_of, run
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.run.options import Seed
from polyclinic.terminal.screen import console

RESIDENTS, DAYS, PER_DAY = 200, 7, 0.05


def demo(*, seed: Seed = 0) -> None:
    """Runs a small town for a week, and says what to try next."""
    screen = console()
    knowledge = read_knowledge()
    hospital = read_hospital(None, knowledge)
    # A small town that is rather ill, so that a week shows something of everything.
    illness = msgspec.structs.replace(hospital.illness, per_day=PER_DAY)
    hospital = msgspec.structs.replace(hospital, illness=illness)
    departments = len({disease.department for disease in knowledge.diseases.values()})
    screen.print("polyclinic: doctors practise on simulated patients. Research and teaching only, never care.\n")
    screen.print(
        f"A town of {RESIDENTS} and its hospital, for {DAYS} days: {len(knowledge.diseases)} diseases of {departments} "
        f"departments, {len(hospital.staff)} people at work. Everybody is played by the built-in 'rules' minds: no "
        "model, no key, no network.\n",
    )
    configuration = Configuration(
        hospital=hospital,
        residents=RESIDENTS,
        days=DAYS,
        seed=seed,
        setup=Setup(seed=seed, departments=hospital.departments),
    )
    with watching(configuration, quiet=False) as looks_on:
        came = stopping.run(run(configuration, watching=looks_on))
    show_run(screen, document_of(configuration, came))
    screen.print("\nTry next:")
    for line, what in (
        ("run --residents 2000 --days 30 --on local:2 --out town", "a month of a bigger town, kept in a folder"),
        ("serve town", "watch it on its map, in the browser (needs the extra 'web')"),
        ("report town", "its pictures, in one page (needs the extra 'report')"),
        ("consult shipped#p1-00001", "watch one visit, then the report beside the truth"),
        ("consult shipped#p1-00003 --doctors rules rules", "two doctors who settle what they disagree on"),
        ("eval mvme --cases shipped --doctor rules", "a benchmark (needs the extra 'evals')"),
    ):
        screen.print(f"  polyclinic {line}", style="bold cyan", soft_wrap=True)
        screen.print(f"      {what}")

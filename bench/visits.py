"""Visits of the hospital held against their cases by an auditor of its own (`bench.auditor`).

`python -m bench visits [--visits N] [--seed N] [--workers N] [--language en|zh]` ends with exit code 1 on a violation.
"""

import argparse
import asyncio
import sys
import time

from bench.auditor import Audit
from bench.hospital import DAYS, RESIDENTS, filled
from polyclinic.hospital.care.clinic import open_clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.workers import open_clinic_workers
from polyclinic.hospital.running import kinds_of
from polyclinic.hospital.simulation import Simulation
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.ledger import Ledger
from polyclinic.parallel.holder import Holder

VISITS, SEED = 10_000, 20_264


def run(*options):
    asked = argparse.ArgumentParser(prog="python -m bench visits")
    asked.add_argument("--visits", type=int, default=VISITS)
    asked.add_argument("--seed", type=int, default=SEED)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--language", choices=("en", "zh"), default="en")
    asked = asked.parse_args(options)
    began = time.monotonic()
    audit = asyncio.run(audited(asked.visits, asked.seed, asked.workers, asked.language))
    for line in audit.lines():
        print(line)
    print(f"seed {asked.seed}, {asked.language}: {audit.violations} violations, {time.monotonic() - began:.0f} s")
    if audit.violations:
        sys.exit(1)


def _workers(workers, setup):
    return open_clinic_workers(f"local:{workers}", setup, Holder(None, Ledger()))


async def audited(visits, seed, workers=1, language="en"):
    """Lets the hospital live for so many visits, every doctor seeing every department, and audits each."""
    knowledge = read_knowledge()
    hospital = filled(knowledge)
    town = Town(hospital, knowledge, Residents(RESIDENTS, seed, language=language), seed=seed)
    setup = Setup(seed=seed, departments=hospital.departments, max_examinations=hospital.examinations, traces=True)
    audit = Audit(knowledge)
    async with open_clinic(setup) if workers == 1 else _workers(workers, setup) as computing:

        async def compute(request):
            episode = await computing.compute(request)
            audit.look_at(request.case, episode)
            return episode

        kinds = kinds_of(knowledge)
        await Simulation(hospital, town, compute, days=DAYS, visits=visits, seed=seed, kinds=kinds).run()
    return audit

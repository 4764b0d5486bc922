"""Sentences that give the diagnosis away, in a history and in a persona: none is told, or the check names it.

`python -m bench.attack_plantings [TABLE]` prints the figures of a table for each of its halves, and what did not hold.
A table is tab-separated, with the columns of `bench/data/planted_sentences.tsv`; one without `half` is one half. Where
`kind` is "harmless" nothing is given away, and the patient tells it; where `decisive` is "no" both will do.
"""

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from bench.attack import Tried
from polyclinic.cases.case import Case
from polyclinic.cases.check import check_case
from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.knowledge.named_in import named_in
from polyclinic.language.language import Language
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.roles.patient import Patient

TABLE = Path(__file__).parent / "data" / "planted_sentences.tsv"

Became = Literal["withheld", "doubtful", "told"]
"""What became of a sentence: the patient keeps it or a part of it to itself, the check names it, or neither."""


class Planting(NamedTuple):
    """A sentence that is planted in the record of somebody who has a disease."""

    half: str
    id: str
    language: Language
    disease: str
    sentence: str
    kind: str
    decisive: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.kind}), {self.disease}: {self.sentence}"


def plantings(table: Path = TABLE) -> list[Planting]:
    """Returns the lines of a table."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Planting(
            row.get("half", table.stem),
            row["id"],
            "zh" if row["lang"] == "zh" else "en",
            row["disease"],
            row["sentence"],
            row["kind"],
            row["decisive"] == "yes" and row["kind"] != "harmless",
        )
        for row in rows
    ]


def became(planting: Planting) -> Became:
    """Returns what becomes of a sentence that stands in the history and in the persona of a case."""
    text = planting.sentence
    presentation = Presentation(
        complaint="不适" if planting.language == "zh" else "Feels unwell", language=planting.language
    )
    record = Record(presentation=presentation, history=History(present=text))
    persona = Persona(statement=text)
    case = Case(id="1", record=record, truth=Truth(diagnoses=(Diagnosis(planting.disease),)), persona=persona)
    patient = Patient(ScriptedMind([]), record, withheld=diagnosis_terms(case.truth.diagnoses), persona=persona)
    told = (patient.history.present, (patient.persona or persona).statement)
    if all(one.strip() != text.strip() for one in told):
        return "withheld"
    doubtful = any("look at it" in problem.problem for problem in check_case(case, namings=named_in))
    return "doubtful" if doubtful else "told"


def sentences(seed: int, n: int, table: Path = TABLE) -> list[Tried]:
    """Plants the sentences of a table, all of them in order: there is nothing to draw, and `seed` says nothing."""
    return list(_of_halves(plantings(table)[:n]))


def _of_halves(rows: Iterable[Planting]) -> Iterator[Tried]:
    halves: dict[str, list[tuple[Planting, Became]]] = {}
    for row in rows:
        halves.setdefault(row.half, []).append((row, became(row)))
    for half, of_it in halves.items():
        given = [(row, how) for row, how in of_it if row.decisive]
        harmless = [(row, how) for row, how in of_it if row.kind == "harmless"]
        doubtful = sum(how == "doubtful" for _, how in given)
        failed = tuple(str(row) for row, how in given if how == "told")
        yield Tried(f"sentences that give the diagnosis away, {half} half ({doubtful} as doubtful)", len(given), failed)
        kept = tuple(str(row) for row, how in harmless if how == "withheld")
        yield Tried(f"harmless sentences that are told, {half} half", len(harmless), kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", type=Path, default=TABLE)
    failed = False
    for tried in sentences(0, sys.maxsize, parser.parse_args().table):
        print(f"{tried.what}: {tried.n - len(tried.failed)} of {tried.n}")
        for line in tried.failed:
            print(f"  {line}")
        failed = failed or bool(tried.failed)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

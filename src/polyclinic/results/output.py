"""What a user gets of a run: a document, tables, files, and a row for each item."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from polyclinic.cases.case_share import CaseShare
from polyclinic.files import write_json, write_text
from polyclinic.models.ledger import AskedFor, asked_by_player
from polyclinic.players.patient_trust import PatientTrust, trust_fields
from polyclinic.results.folder import ItemMeasure, ItemRow

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.visits.team import TeamVisit
    from polyclinic.visits.visit import Visit


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a user gets of an evaluation.

    Attributes:
        document: what `--json` prints; the folder of `--out` holds it as well.
        files: the other files there: their texts, piece by piece, by name.
        written: says what stands in the folder; "" says nothing.
        failed: how many of what was played failed, of `n`; 0 of 0 where failures are not judged by their share.
        plays: what was played.
        failures: why what failed did, by the kinds of failure; "" says nothing.
        rows: item by item what came of it, for `polyclinic.results`; measures: what they have values of.
        asked_for: for which row a call was made.
        departures: what was other than in the paper that is followed.
    """

    document: Mapping[str, Any]
    show: Callable[[Console], None]
    document_file: str = "summary.json"
    files: Mapping[str, Iterable[str]] = field(default_factory=dict)
    written: str = "Traces and summary: {}"
    failed: int = 0
    n: int = 0
    plays: str = "visits"
    failures: str = ""
    rows: Sequence[ItemRow] = ()
    measures: Sequence[ItemMeasure] = ()
    asked_for: AskedFor = asked_by_player
    departures: Sequence[str] = ()

    def beside(self, document: Mapping[str, Any], show: Callable[[Console], None]) -> Output:
        """Returns the same with more in the document, and with what is shown below."""

        def both(screen: Console) -> None:
            self.show(screen)
            show(screen)

        return replace(self, document={**self.document, **document}, show=both)

    def with_trust(self, trust: PatientTrust | None) -> Output:
        """Returns the same with how reliable the simulated patient is, if there is something to say of that."""
        if trust is None:
            return self
        return self.beside(trust_fields(trust), lambda screen: screen.print(f"\n{trust.line}", style="yellow"))

    def with_case_shares(self, shares: Sequence[CaseShare]) -> Output:
        """Returns the same with how many of the records of its case files are used, and which are not."""
        if not shares:
            return self

        def show(screen: Console) -> None:
            for share in shares:
                if share.left_out:
                    screen.print(f"\n{share}; {len(share.left_out)} left out", style="yellow")

        return self.beside({"cases_used": msgspec.to_builtins(list(shares))}, show)

    def write(self, folder: Path) -> None:
        """Writes the document and the files."""
        for name, pieces in self.files.items():
            write_text(folder / name, "".join(pieces))
        write_json(folder / self.document_file, self.document)


def trace_places(file: str, visits: Iterable[Visit | TeamVisit]) -> dict[str, str]:
    """Returns by case where its visit begins in a file of traces, as `FILE:LINE`."""
    places, line = {}, 1
    for visit in visits:
        places[visit.case] = f"{file}:{line}"
        line += sum(map(len, visit.traces))
    return places


def first_failure(visits: Iterable[Visit | TeamVisit]) -> str:
    """Returns why the first visit that failed did, "" where none did."""
    from polyclinic.events import Failed  # noqa: PLC0415 - for those that failed alone

    for visit in visits:
        failed = visit.trace.last(Failed)
        if visit.report is None and failed is not None:
            return f"the first, {visit.case}: {failed.problem}"
    return ""


def short_names(files: Sequence[str | Path]) -> list[str]:
    """Returns the shortest ends of paths, without file types, that differ; the paths themselves if none do."""
    paths = [Path(file).with_suffix("").parts for file in files]
    for parts in range(1, max(map(len, paths), default=1) + 1):
        names = ["/".join(path[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(file) for file in files]


def json_line(one: object) -> str:
    """Returns something as a line of JSON; sets, which have no order of their own, are sorted."""
    return msgspec.json.encode(one, order="deterministic").decode() + "\n"


def safe_name(name: str) -> str:
    """Returns a name as files are called: a method's settings and a mind's name may hold strokes and blanks."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Returns for each name a file's, without its ending."""
    given: dict[str, str] = {}
    for name in names:
        safe = safe_name(name) or "doctor"
        free = (one for one in chain([safe], (f"{safe}-{n}" for n in count(2))) if one not in given.values())
        given[name] = next(free)
    return given

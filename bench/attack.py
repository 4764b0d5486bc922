"""Attacks on the package, seeded: what was tried, and what it survived.

`python -m bench.attack [PART ...] [--seed S] [--n N] [--write]`: the parts are those of `PARTS`, each tried as often as
its own measure says, or N times; `--write` puts the rows of these parts into the table of docs/security.md, and leaves
those of the others as they are.
"""

import argparse
import importlib
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SEED = 20_264
PARTS = {
    "corruption": ("attack_files", "corrupted", 1_000),
    "stores": ("attack_files", "stores", 400),
    "readers": ("attack_readers", "readers", 2_000),
    "leaks": ("attack_texts", "leaks", 1_000),
    "sentences": ("attack_plantings", "sentences", 1_000),
    "canaries": ("attack_leaks", "canaries", 12),
    "secrets": ("attack_outputs", "secrets", 1_000),
    "pipes": ("attack_outputs", "pipes", 1_000),
    "texts": ("attack_texts", "texts", 60),
    "endpoints": ("attack_texts", "endpoints", 60),
    "bombs": ("attack_texts", "bombs", 12),
    "signals": ("attack_signals", "signals", 100),
    "races": ("attack_races", "races", 50),
    "kills": ("attack_kills", "kills", 60),
}
"""By name: the file, the function, and how often."""

PAGE = Path(__file__).parent.parent / "docs" / "security.md"
_TABLE = re.compile(r"(?<=<!-- attacks -->\n).*?(?=<!-- end of attacks -->)", re.DOTALL)
_ROW = re.compile(r"^\| (\w+) \| .+ \| [\d,]+ \| [\d,]+ \|$", re.MULTILINE)
_HEAD = "| part | attack | tried | survived |\n|---|---|---|---|"


class Tried(NamedTuple):
    """What came of a part: how often it was tried, and what did not hold, in a line each."""

    what: str
    n: int
    failed: tuple[str, ...] = ()


def attack(part: str, *, seed: int = SEED, n: int | None = None) -> list[Tried]:
    """Tries one part."""
    file, name, usual = PARTS[part]
    tries: Callable[[int, int], list[Tried]] = getattr(importlib.import_module(f"bench.{file}"), name)
    return tries(seed, usual if n is None else n)


def written(page: str, made: Mapping[str, Sequence[Tried]], *, seed: int) -> str:
    """Returns the page with other rows of the parts that were tried; rows of no part that there is go."""
    rows: dict[str, list[str]] = {part: [] for part in PARTS}
    for row in _ROW.finditer(_TABLE.findall(page)[0]):
        if row[1] in rows and row[1] not in made:
            rows[row[1]].append(row[0])
    for part, tries in made.items():
        rows[part] = [f"| {part} | {one.what} | {one.n:,} | {one.n - len(one.failed):,} |" for one in tries]
    table = "\n".join([_HEAD, *(row for of_part in rows.values() for row in of_part)])
    said = f"Each row is written by `python -m bench.attack PART --seed {seed} --write`."
    return _TABLE.sub(lambda _: f"\n{said}\n\n{table}\n\n", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--n", type=int)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    made: dict[str, list[Tried]] = {}
    for part in given.parts:
        began = time.monotonic()
        made[part] = attack(part, seed=given.seed, n=given.n)
        for tried in made[part]:
            print(f"{part}: {tried.what}: {tried.n - len(tried.failed)} of {tried.n}; seed {given.seed}", flush=True)
            for line in tried.failed[:20]:
                print(f"  {line}")
        print(f"{part}: {time.monotonic() - began:.0f} s", flush=True)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), made, seed=given.seed), encoding="utf-8")
    sys.exit(any(tried.failed for tries in made.values() for tried in tries))


if __name__ == "__main__":
    main()

import importlib
import sys

PARTS = (
    "consultations",
    "scoring",
    "models",
    "scale",
    "saps",
    "discussion",
    "methods",
    "tor",
    "judges",
    "icd",
    "episodes",
    "seek",
    "triage",
    "hospital",
    "memory",
    "retrieval",
    "evolve",
    "visits",
    "web",
    "watching",
    "options",
    "cluster",
    "store",
    "exam_kills",
    "results",
    "statistics",
    "startup",
    "journey",
)


def main() -> None:
    given = sys.argv[1:]
    # What follows the first word that names no measurement is for the one before it.
    first = next((n for n, word in enumerate(given) if word.startswith("-") or (n and word not in PARTS)), len(given))
    wanted, options = given[:first] or PARTS, given[first:]
    if options and len(wanted) != 1:
        sys.exit(f"options {' '.join(options)!r} are for one measurement; name it before them")
    for name in wanted:
        if name not in PARTS:
            sys.exit(f"no measurement {name!r}; there are: {', '.join(PARTS)}")
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").run(*options)
        print()


if __name__ == "__main__":
    main()

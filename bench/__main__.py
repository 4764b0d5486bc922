import importlib
import sys

PARTS = (
    "consultations",
    "scoring",
    "models",
    "saps",
    "discussion",
    "methods",
    "tor",
    "judges",
    "icd",
    "episodes",
    "seek",
    "hospital",
    "retrieval",
)


def main() -> None:
    wanted = sys.argv[1:] or PARTS
    for name in wanted:
        if name not in PARTS:
            sys.exit(f"no measurement {name!r}; there are: {', '.join(PARTS)}")
    for name in wanted:
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").run()
        print()


if __name__ == "__main__":
    main()

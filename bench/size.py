"""How big the project is: lines, tokens and files of `src`, lines of tests, commands and options.

    python -m bench.size

Options are counted as `--help` shows them: a negative form with its option, positionals not at all. Tokens are those of
Python's tokenizer without comments, line ends and indentation.
"""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from polyclinic.cli.commands import APP, COMMANDS

ROOT = Path(__file__).parents[1]
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines(files: list[Path]) -> int:
    """Returns the number of lines of files."""
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


def tokens(file: Path) -> int:
    """Returns the number of tokens of a file."""
    read = io.StringIO(file.read_text("utf-8")).readline
    return sum(token.type not in _LAYOUT for token in tokenize.generate_tokens(read))


def options(command: str) -> set[str]:
    """Returns the options that the help of a command shows."""
    _, apps, _ = APP.parse_commands(command.split())
    shown = (one for one in apps[-1].assemble_argument_collection(parse_docstring=True) if one.show)
    return {one.names[0] for one in shown if one.index is None and one.names and one.names[0].startswith("--")}


def main() -> None:
    """Prints the table."""
    source, tests = sorted((ROOT / "src").rglob("*.py")), sorted((ROOT / "tests").rglob("*.py"))
    by_command = {name: options(name) for name in COMMANDS}
    largest = max(by_command, key=lambda name: len(by_command[name]))
    rows = {
        "lines of src": (lines(source), 90_000),
        "tokens of src": (sum(map(tokens, source)), 680_000),
        "files of src": (len(source), 520),
        "lines of tests": (lines(tests), None),
        "commands": (len(COMMANDS), 40),
        "distinct options": (len(set().union(*by_command.values())), 110),
        f"options of the largest command ({largest})": (len(by_command[largest]), 25),
        "option slots": (sum(map(len, by_command.values())), 550),
    }
    for name, (value, bar) in rows.items():
        print(f"{name:48} {value:>9,}" + ("" if bar is None else f"   bar {bar:>8,}"))


if __name__ == "__main__":
    main()

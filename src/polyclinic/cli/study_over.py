"""Whether a run of a study that is over is the one that its plan asks for: same command, data, knowledge, prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyclinic.errors import BadInput
from polyclinic.fingerprints import others
from polyclinic.results.folder import RunRecord
from polyclinic.results.provenance import command_words, data_files, made_of, own_code

_ANEW = "name another --out, or move the folder away"
_FREE = {
    "--max-tokens",
    "--max-cost",
    "--concurrency",
    "--requests-per-minute",
    "--tokens-per-minute",
    "--timeout",
    "--wait-for-server",
    "--api-key-env",
    "--price",
    "--max-failures",
    "--journal",
    "--store",
    "--share",
    "--batch-api",
    "--out",
}
"""What may differ: how fast is asked, what may be spent, and where answers are kept."""


def check_over(record: RunRecord, words: Sequence[str], folder: Path) -> None:
    """Checks that what is over is what these words would run.

    Raises:
        BadInput: it was run with another option, or with data, knowledge, prompts or words that have changed since.
    """
    before, now = _options(record.command), _options(command_words(words))
    files = {one.option for one in record.data}
    for option in [*before, *(one for one in now if one not in before)]:
        if option.lstrip("-").replace("-", "_") not in files and before.get(option) != now.get(option):
            was, is_now = (
                " ".join([option, *held]) if held is not None else f"no {option}"
                for held in (before.get(option), now.get(option))
            )
            raise BadInput(f"is over, and was run with {was}; now it is {is_now}: {_ANEW}", path=folder)
    for one in record.data:
        named = now.get(f"--{one.option.replace('_', '-')}")
        path = Path(named[0]) if named else Path(one.file)
        if path.is_file() and one.sha256 not in {file.sha256 for file in data_files({one.option: path})}:
            raise BadInput(f"is over, and {path} is another file now: {_ANEW}", path=folder)
    for code in record.code:
        if (own := own_code({code.option: code.name})) and code.sha256 not in ("", own[0].sha256):
            raise BadInput(f"is over, and the code of {code.name} is another now: {_ANEW}", path=folder)
    if changed := others({name: record.versions[name] for name in made_of() if name in record.versions}, made_of()):
        raise BadInput(f"is over, and was run with other {' and '.join(changed)}: {_ANEW}", path=folder)


def _options(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the values of each option that counts, the command's own words under ""."""
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, sign, value = word.partition("=")
            found[name] = (*found.get(name, ()), *([value] if sign else []))
        else:
            found[name] = (*found.get(name, ()), word)
    return {name: held for name, held in found.items() if name not in _FREE}

"""Writes what is made from the code, the knowledge and the YAML files: parts of the documentation, and JSON.

`make docs` calls it. With `--check` it writes nothing and fails where a file is not what it would write.
"""

import re
import sys
from pathlib import Path

import msgspec
from api import reference

from polyclinic.cases.case import case_schema
from polyclinic.cli.commands import APP
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import LINKED, Knowledge, read_knowledge
from polyclinic.players.rules.lay_vocabulary import PHRASES
from polyclinic.yaml_files import COMPILED, compile_shipped

DOCS = Path(__file__).parent
MADE = "<!-- Made by `make docs`; change what it is made from. -->\n"


def command_line() -> str:
    """Returns every command with its options."""
    shown = APP.generate_docs(output_format="markdown", recursive=True)
    shown = re.sub(r"\n    (?=[^\s-])", " ", shown)  # the help of an option may have several lines
    return f"{MADE}\n{shown.replace('# polyclinic', '# The command line', 1)}"


def knowledge_pages(knowledge: Knowledge) -> str:
    """Returns what the knowledge holds, with its sources."""
    parts = [
        MADE,
        "# The medical knowledge\n",
        f"{len(knowledge.diseases)} diseases of {len(knowledge.departments)} departments, "
        f"{len(knowledge.symptoms)} symptoms and circumstances, "
        f"{len(knowledge.examinations)} examinations, {len(knowledge.drugs)} drugs, as data files in "
        "`src/polyclinic/knowledge`. The probabilities put textbook knowledge into numbers by hand; they are there to "
        "teach and to test with, and are no estimates from patients. How well the diseases can be told apart is "
        "measured by `polyclinic cases check --ceiling --diseases all`.\n",
        "A disease names only what it changes. A symptom that it does not name has the symptom's own frequency `base`, "
        "times the disease's `background` where it would be the patient's complaint; an item of an examination that it "
        "does not name has the item's `usual` distribution. What somebody's age or sex excludes is neither drawn nor "
        "asked for.\n",
        "| department | diseases |\n|---|---|\n"
        + "\n".join(
            f"| {department.name.en} ({department.name.zh}) | "
            f"{', '.join(d.name.en for d in knowledge.diseases.values() if d.department == department.id)} |"
            for department in knowledge.departments.values()
        )
        + "\n",
        (DOCS / "knowledge" / "about.md").read_text("utf-8").replace("](", "](knowledge/"),
    ]
    order = list(knowledge.departments)
    for disease in sorted(knowledge.diseases.values(), key=lambda d: order.index(d.department)):
        strongest = sorted(disease.symptoms, key=lambda s: -max(disease.symptoms[s]))[:8]
        rows = [
            f"| {knowledge.symptoms[s].name.en} | {' | '.join(f'{100 * p:.0f} %' for p in disease.symptoms[s])} |"
            for s in strongest
        ]
        right = ", ".join(knowledge.examinations[e].name.en for e in disease.examinations)
        parts += [
            f"## {disease.name.en} ({disease.name.zh})\n",
            f"ICD-10 {disease.icd10}; department: {knowledge.departments[disease.department].name.en}; "
            f"right examinations: {right}.\n",
            f"| most frequent symptoms | {' | '.join(SEVERITIES)} |\n|---|---|---|---|",
            "\n".join(rows) + "\n",
            "Sources:\n",
            "\n".join(f"- {s.title}. {s.publisher}, {s.year}: {s.supports}" for s in disease.sources) + "\n",
        ]
    return "\n".join(parts)


def main() -> None:
    """Writes or checks the files."""
    schema = msgspec.json.format(msgspec.json.encode(case_schema()), indent=2)
    made: dict[str | Path, bytes] = {
        "api.md": f"{MADE}\n{reference()}".encode(),
        "case.schema.json": schema + b"\n",
        "command-line.md": command_line().encode(),
        "knowledge.md": knowledge_pages(read_knowledge()).encode(),
        COMPILED: compile_shipped(),
        **{table.file: table.encode() for table in (LINKED, PHRASES)},
    }
    stale = [name for name, content in made.items() if not _holds(DOCS / name, content)]
    if "--check" in sys.argv:
        # How help is laid out is for cyclopts to say, and differs between its versions.
        stale = [name for name in stale if name != "command-line.md"]
        if stale:
            sys.exit(f"stale: {', '.join(map(str, stale))}; run: make docs")
        return
    for name in stale:
        (DOCS / name).write_bytes(made[name])
    print(f"{len(made)} files made, {len(stale)} of them new")  # noqa: T201


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


if __name__ == "__main__":
    main()

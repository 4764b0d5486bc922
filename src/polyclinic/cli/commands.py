"""The commands, in the order of the help, and the module of each.

A command's module is imported when it runs, so that --help is quick.
"""

from __future__ import annotations

from cyclopts import App, Group, Parameter
from cyclopts.help import DefaultFormatter, HelpPanel
from rich.console import Console, ConsoleOptions
from rich.text import Text

from polyclinic import __version__
from polyclinic.cli.configuration import apply
from polyclinic.evaluations.declared import DECLARATIONS

_NEVER = "For research and teaching only; never for the care of real people."

COMMANDS = {
    "demo": "demo:demo Simulate a small town and its hospital for a week, and suggest what to try next.",
    "run": "run:run Simulate a town and its hospital: illness, triage, queues, consultations, recovery. The same seed "
    "gives the same log.",
    "evolve": "evolve:evolve Train a doctor on thousands of patients, after MedAgent-Zero, and print its progress.",
    "consult": "consult:consult Let a doctor see a patient, and print the visit; without #ID, every case of the file."
    "\n\nWith --doctors, each doctor sees the patient alone; then they discuss what they disagree on."
    f"\n\n{_NEVER}",
    "replay": "replay:replay Print recorded visits.",
    "ask": "ask:ask Ask the patient of a case your own questions, or order examinations with --examiner.\n\nAll "
    f"questions belong to one visit; the patient remembers the earlier ones.\n\n{_NEVER}",
    "report": "report:report Write a report on finished or running runs: one HTML file with tables and charts, a "
    "folder of pages with all results, or the log of the hospital.",
    "serve": "serve:serve Open the pages in the browser: the map of the town, the doctor's chair, classes, "
    f"judging, and results.\n\n{_NEVER}",
    "results show": "results:show Show a run: command, versions, data, models and results; several runs make one "
    "table of sets, models and methods.",
    "results compare": "results:compare Compare runs item by item, with Holm's correction; compare two runs of the "
    "hospital with the same seed patient by patient.",
    "cases show": "cases:show Show the cases of a file, or one of them as a chart; the truth only with --truth.",
    "cases check": "cases:check Check a case file: schema, duplicate ids, and truth in a place where a doctor can read "
    "it.",
    "cases convert": "case_convert:convert Write the cases of a file in another layout, or give each a persona.\n\n"
    "A persona is a statement in the patient's own voice, a life, a character and a manner. A persona that reveals "
    "the diagnosis or a result is refused; the case then gets none.",
    "cases generate": "case_generate:generate Draw patients from the medical knowledge, balanced over disease "
    "and severity.",
    "cases patient-test": "patient_test:patient_test Make a test set for simulated patients: dialogues, with questions "
    "of eight kinds after each round.",
    "corpus add": "corpus:add Add passages to a corpus: from JSON lines, text or Markdown files, or 'knowledge', which "
    "comes with polyclinic.",
    "corpus search": "corpus:search Search a corpus by words, by meaning, or by both; or list the corpora.",
    "corpus remove": "corpus:remove Remove a corpus, or passages of it.",
    **{
        f"eval {name}": f"evaluations:{name.replace('-', '_')} {line.partition(' ')[2]}"
        for name, line in DECLARATIONS.items()
    },
    "score aie": "score:aie Score how doctors led their consultations: the ten metrics of AIE, and paired "
    "differences of several doctors.",
    "score director": "score:director Score the grades of a medical director (AI Hospital): means by aspect, "
    "and agreement of two judges.",
    "score icd": "score:icd Link the diagnoses of reports to ICD-10: precision, recall and F1 of codes and of "
    "categories.",
    "verdicts export": "verdicts:export Write a sheet for people to fill in: dialogues to compare, rounds, records or "
    "reports to judge.\n\nDoctors that are compared are anonymous: the sheet shows codes, and a file next to it, "
    "NAME.key.csv, lists who is who.",
    "verdicts import": "verdicts:import_verdicts Read the sheets that people filled in, check them, and combine them "
    "in one file.\n\nIt needs the sheets that went out, --items, or the key of a blind one, --key.",
    "verdicts agreement": "verdicts:agreement Compute how far people agree (percent, kappa, alpha), and summarise "
    "their verdicts.",
    "study run": "study_run:run Run a plan: models, methods, sets and seeds, with one journal and one table.",
    "knowledge show": "knowledge:show Show a disease as a page: definition, presentation, examinations, plans, "
    "sources.",
    "knowledge check": "knowledge:check Check the medical knowledge: its files, and patients drawn from it. The exit "
    "code is 1 if a check fails.",
    "knowledge compare": "knowledge_compare:compare Compare names of diseases: do they mean the same disease, a kind "
    "of it, or another one?",
    "memory show": "memory:show Show what a doctor remembers: a summary, the latest entries, or those nearest to a "
    "patient.",
    "memory build": "memory:build Make a memory from others: merge, import, change the embedder, or point into a "
    "database.",
    "memory read": "memory:read Let a doctor read: it answers questions made from the passages of a corpus, and "
    "right answers are kept.",
    "config show": "config:show Show every key that a command reads from a configuration file, with its default; or a "
    "paper's protocol: players, prompts, limits, temperatures, sample, judge and statistics with their sections, and "
    "why ours differ.",
    "models check": "check:check Check models: reachable, answers, structured answers, latency; and list the "
    "installed extras.",
}
"""Each command, or group and command, with `MODULE:FUNCTION` in `polyclinic.cli`, and its help."""

_GROUPS = {
    "results": "Show, compare and export results.",
    "cases": "Show, check, convert and generate cases.",
    "corpus": "Corpora of passages for doctors and methods to search.",
    "eval": "Run an evaluation.",
    "score": "Score recorded dialogues and reports.",
    "verdicts": "Sheets for people, their verdicts, and their agreement.",
    "study": "Plans of several runs.",
    "knowledge": "Show and check the medical knowledge, and compare names of diseases.",
    "memory": "Show, build and fill a doctor's memory.",
    "config": "Show the keys of configuration files, and the papers' protocols.",
    "models": "Check models, and install the small one that runs on this machine.",
}


def _default(value: object) -> str | None:
    """Returns how a default is shown; None where it says nothing."""
    if value is None or value is False or value == "":
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


class HelpLayout(DefaultFormatter):
    """The layout of `--help`; the help of an option may come from a docstring with several lines."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Prints a panel."""
        for entry in panel.entries if panel.format == "parameter" else ():
            text = getattr(entry.description, "primary_renderable", None)
            if isinstance(text, Text):
                entry.description.primary_renderable = Text(" ".join(text.plain.split()))
        super().__call__(console, options, panel)


_OPTION = Parameter(negative=(), show_default=_default)  # --json has no --no-json


def _app() -> App:
    made = App(
        name="polyclinic",
        help="Language models practise medicine on simulated patients, so that they can be watched, measured and "
        f"improved.\n\n{_NEVER}",
        help_format="plaintext",
        help_formatter=HelpLayout(),
        version=f"polyclinic {__version__}",
        version_flags=["--version"],
        default_parameter=_OPTION,
        config=apply,
        group_parameters=Group("Options", sort_key=0),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for place, (words, line) in enumerate(COMMANDS.items()):
        group, _, name = words.rpartition(" ")
        if group and group not in made:
            summary = f"{_GROUPS[group]}\n\n{_NEVER}"
            made.command(App(name=group, help=summary, version_flags=[], default_parameter=_OPTION, sort_key=place))
        where, _, told = line.partition(" ")
        parent = made[group] if group else made
        parent.command(f"polyclinic.cli.{where}", name=name, help=told, sort_key=place)
    return made


APP = _app()

"""Which commands there are, in the order of the help, and where each stands.

A command's module is imported when it runs, so that --help is quick.
"""

from __future__ import annotations

from cyclopts import App, Group, Parameter

from polyclinic import __version__
from polyclinic.cli.configuration import apply

_NEVER = "For research and teaching only; never for the care of real people."

COMMANDS = {
    "demo": "demo:demo Let a small town fall ill and its hospital treat it for a week, and say what to try next.",
    "run": "run:run Let a town fall ill and a hospital treat it: triage, queues, consultations, recovery. One seed, "
    "one log.",
    "evolve": "evolve:evolve Let a doctor learn from thousands of patients, after MedAgent-Zero, and print how it gets "
    "better.",
    "consult": "consult:consult One doctor sees one patient, printed as it goes; without #ID, every case of the file."
    f"\n\nWith --doctors several see the patient each alone, and then settle what they disagree on.\n\n{_NEVER}",
    "replay": "replay:replay Show recorded visits again.",
    "ask": "ask:ask Ask the patient of a case what you like, or with --examiner order examinations.\n\nEach question "
    f"is put after those before it, in one visit; the patient remembers them.\n\n{_NEVER}",
    "report": "report:report Report on runs: one HTML file with tables and pictures, also of a run under way; "
    "or a folder of pages with all results, or the log of the hospital.",
    "serve": "serve:serve Open the pages in the browser: the town on its map, the doctor's chair, classes, "
    f"judging, and results.\n\n{_NEVER}",
    "results show": "results:show Show a run: command, versions, data, models, and what came of it; several are one "
    "table of sets, models and methods.",
    "results compare": "results:compare Compare runs item by item, with Holm's correction; two runs of the hospital "
    "with one seed patient by patient and day by day.",
    "cases show": "cases:show Show the cases of a file, or one of them as a chart; the truth only with --truth.",
    "cases check": "cases:check Check a case file: schema, duplicate ids, truth that stands where a doctor can read "
    "it.",
    "cases convert": "case_convert:convert Write the cases of a file in another layout, or give each a persona.\n\n"
    "Layouts are FHIR R4, AgentClinic's and ours. A persona is a statement in the patient's own voice, a life, a "
    "character and a manner; one that reveals the diagnosis or a result is refused, and the case keeps none.",
    "cases generate": "case_generate:generate Draw patients from the medical knowledge, balanced over disease "
    "and severity.",
    "cases patient-test": "patient_test:patient_test Make a test set for simulated patients: dialogues, and questions "
    "of eight kinds behind each round.",
    "corpus add": "corpus:add Add passages to a corpus: from JSON lines, text or Markdown files, or 'knowledge', which "
    "comes with polyclinic.",
    "corpus search": "corpus:search Search a corpus by words, by meaning, or by both; or list the corpora.",
    "corpus remove": "corpus:remove Remove a corpus, or passages of it.",
    "eval aie": "evaluations:aie AIE: doctors question patients in turns, then choose a diagnosis; ten metrics, and "
    "MCQE.\n\nCases without a question get one: their diagnosis and four like it.",
    "eval patient-simulator": "evaluations:patient_simulator How well a simulated patient understands what "
    "doctors say: questions that people have labelled, or recorded dialogues turn by turn.",
    "eval examiner": "evaluations:examiner How an examiner reads recorded requests: what is ordered and recorded is "
    "given, and nothing else is.",
    "eval mvme": "evaluations:mvme MVME: interns see patients, alone or as a team; a director grades their reports, "
    "ICD-10 checks the diagnoses.",
    "eval reliability": "evaluations:reliability AI Hospital's reliability: are patient and examiner relevant, "
    "true to the record, and proof against fishing?",
    "eval exam": "evaluations:exam Exams: methods answer the questions of MedQA, MedMCQA, PubMedQA, MMLU, or of any "
    "other file.",
    "eval tor": "evaluations:tor Tree-of-Reasoning: which of several diagnoses hold, from inpatients' whole records, "
    "by any method.",
    "score aie": "score:aie Score how doctors led their consultations: the ten metrics of AIE, and paired "
    "differences of several doctors.",
    "score director": "score:director Score the grades of a medical director (AI Hospital): means by aspect, "
    "and agreement of two judges.",
    "score icd": "score:icd Link the diagnoses of reports to ICD-10: precision, recall and F1 of codes and of "
    "categories.",
    "verdicts export": "verdicts:export Write a sheet for people to fill in: dialogues to compare, rounds, records or "
    "reports to judge.\n\nWhoever compares two doctors is not told who they are: codes stand for them, and a file "
    "beside the sheet, NAME.key.csv, says who is who.",
    "verdicts import": "verdicts:import_verdicts Read the sheets that people filled in, check them, and put them into "
    "one file.\n\nIt needs the sheets that went out, --items, or the key of a blind one, --key.",
    "verdicts agreement": "verdicts:agreement How far people agree (percent, kappa, alpha), and what their verdicts "
    "come to.",
    "study run": "study_run:run Run a plan: models, methods, sets and seeds, with one journal and one table.",
    "knowledge show": "knowledge:show Show a disease as a page: definition, what it looks like, examinations, plans, "
    "sources.",
    "knowledge check": "knowledge:check Check the medical knowledge: its files, and patients drawn from it. The exit "
    "code is 1 where a check fails.",
    "knowledge compare": "knowledge_compare:compare Compare names of diseases: is the one the other, a kind of it, or "
    "another disease?",
    "memory show": "memory:show Show what a doctor remembers: how much, the latest, or what is nearest to a patient.",
    "memory build": "memory:build Make a memory of others: merge, import, change the embedder, or point into a store.",
    "memory read": "memory_read:read Let a doctor read: questions are made of the passages of a corpus, and what it "
    "answers rightly is kept.",
    "config show": "config:show Show every key that a command reads from a configuration file, with its default; or a "
    "paper's protocol: players, prompts, limits, temperatures, sample, judge and statistics with their sections, and "
    "why ours differ.",
    "models check": "check:check Check models: reachable, answers, structured answers, latency; and which extras are "
    "installed.",
}
"""Each command, or group and command, with `MODULE:FUNCTION`, which stands in `polyclinic.cli`, and its help."""

_GROUPS = {
    "results": "Show, compare and export results.",
    "cases": "Show, check, convert and generate cases.",
    "corpus": "Corpora of passages for doctors and methods to search.",
    "eval": "Run an evaluation.",
    "score": "Score recorded dialogues and reports.",
    "verdicts": "Sheets for people, their verdicts, and their agreement.",
    "study": "Plans of several runs.",
    "knowledge": "Look at the medical knowledge, check it, and compare names of diseases.",
    "memory": "Show, build and fill a doctor's memory.",
    "config": "Show the keys of configuration files, and the papers' protocols.",
    "models": "Check models, and install the small one that runs on this machine.",
}


def _default(value: object) -> str | None:
    """Returns how a default is shown; None where it says nothing."""
    if value is None or value is False or value == "":
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


_OPTION = Parameter(negative=(), show_default=_default)  # --json has no --no-json


def _app() -> App:
    made = App(
        name="polyclinic",
        help="Language models practise medicine on simulated patients, so that they can be watched, measured and "
        f"improved.\n\n{_NEVER}",
        help_format="plaintext",
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

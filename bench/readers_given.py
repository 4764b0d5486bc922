"""Which readers there are of what the user names, and what each is given that is right."""

from bench.readers import (
    ReaderTried,
    in_command,
    labelled,
    made_by,
    meetings,
    of_package,
    one_class,
    picture,
    png,
    practice,
    read,
    records,
    results,
    text,
)

_MCQ = {"question": "Which?", "options": {"A": "x", "B": "y"}, "answer_idx": "A", "answer": "x"}
_GRADES = {"symptoms": 4, "examinations": 3, "diagnosis": 2, "rationale": 1, "treatment": 4}
_REMEMBERED = {
    "kind": "record",
    "task": "diagnosis",
    "answer": "A",
    "asked": {"case": "1", "number": 1, "query": "cough", "options": ["A", "B"]},
}


_CHECKED = in_command("cases", "check", "{}")
_TRACE = made_by("consult", "shipped#p1-00001", "--doctor", "rules", "--out", "{}", "--json")
_CASES = made_by("cases", "generate", "--n", 2, "--out", "{}")
_DIALOGUE = {"patient_id": 1, "dialog_history": [{"role": "Doctor", "content": "#Symptoms: cough\n#Diagnosis: gout"}]}
_JUDGED = {"patient_id": 1, "doctor_diagnosis": {"diagnosis": "gout"}, "reference_diagnosis": {"diagnosis": "gout"}}
_AIE = {"id": 1, "question": "A man of 40 has a cough. What is it?", "options": {"A": "x", "B": "y"}, "answer": "x"}

READERS = (
    ReaderTried("cases", ("cases/loaders/reader.py", "evals/tasks.py"), "c.jsonl", _CASES, _CHECKED),
    ReaderTried(
        "cases as FHIR",
        (),
        "c.jsonl",
        made_by("cases", "convert", "shipped", "--format", "fhir", "--out", "{}"),
        in_command("cases", "check", "{}", "--layout", "fhir"),
    ),
    ReaderTried(
        "cases as AgentClinic's",
        (),
        "c.jsonl",
        made_by("cases", "convert", "shipped", "--format", "agentclinic", "--out", "{}"),
        _CHECKED,
    ),
    ReaderTried("cases as AIE's", (), "c.json", records([_AIE]), _CHECKED),
    ReaderTried(
        "a map of fields",
        ("cases/loaders/field_map.py",),
        "m.toml",
        text('complaint = "a"\ndiagnoses = "b"\nage = "c"\n[history]\npresent = "d"\n[findings]\n"x, y" = "e"\n'),
        read("cases.loaders.field_map", "loader_of"),
    ),
    ReaderTried(
        "DDXPlus's tables",
        ("cases/loaders/ddxplus.py",),
        "release_evidences.json",
        records({"E_1": {"name": "E_1", "question_en": "Fever?", "value_meaning": {"V_1": {"en": "yes"}}}}),
        lambda path: (
            read("cases.loaders.ddxplus", "load")
            and __import__("polyclinic.cases.loaders.ddxplus", fromlist=["_"]).load(
                {"PATHOLOGY": "Gout", "AGE": 40, "SEX": "M", "EVIDENCES": "['E_1_@_V_1']", "INITIAL_EVIDENCE": "E_1"},
                1,
                path.parent,
            )
        ),
    ),
    ReaderTried("a picture", ("cases/pictures.py", "models/model.py"), "p.png", png, picture),
    ReaderTried("a trace", ("events.py",), "t.jsonl", _TRACE, in_command("replay", "{}")),
    ReaderTried("a trace to be scored", (), "t.jsonl", _TRACE, in_command("score", "aie", "{}", "--cases", "shipped")),
    ReaderTried(
        "a trace to be linked",
        ("metrics/recorded_reports.py",),
        "t.jsonl",
        _TRACE,
        in_command("score", "icd", "{}"),
    ),
    ReaderTried(
        "a trace in a sheet",
        ("judging/sheets.py", "judging/verdicts.py"),
        "t.jsonl",
        _TRACE,
        lambda path: in_command(
            "verdicts", "export", "rounds", path, "--cases", "shipped", "--force", "--out", path.parent / "sheet.csv"
        )(path),
    ),
    ReaderTried(
        "verdicts",
        (),
        "v.csv",
        text("form,case,doctor,turn,who,relevant,consistent,suggested,examined\nrounds,1,d,1,a,yes,yes,no,no\n"),
        in_command("verdicts", "agreement", "{}"),
    ),
    ReaderTried(
        "a model file",
        ("models/model_file.py",),
        "m.toml",
        text('[models."direct/m"]\nbase_url = "http://127.0.0.1:1/v1"\ntemperature = 0.5\n'),
        read("models.model_file", "read_model_file"),
    ),
    ReaderTried(
        "questions",
        ("questions/layouts.py",),
        "q.jsonl",
        records(_MCQ, _MCQ),
        read("questions.layouts", "read_exam"),
    ),
    ReaderTried(
        "MMLU's table",
        ("questions/layouts.py",),
        "anatomy_test.csv",
        text("Which?,a,b,c,d,A\n"),
        read("questions.layouts", "read_exam", layout="mmlu"),
    ),
    ReaderTried(
        "PubMedQA's list of the test",
        ("questions/layouts.py",),
        "test_ground_truth.json",
        records({"1": "yes"}),
        lambda path: list(
            __import__("polyclinic.questions.layouts", fromlist=["_"]).read_pubmedqa(
                {"1": {"QUESTION": "Is it?", "CONTEXTS": ["It is."], "final_decision": "yes"}}, path.with_name("x.json")
            )
        ),
    ),
    ReaderTried(
        "examples",
        ("questions/examples.py",),
        "e.jsonl",
        of_package("questions/data/examples_choice.jsonl"),
        read("questions.examples", "read_examples"),
    ),
    ReaderTried(
        "a plan of a study",
        ("protocols/study_plan.py",),
        "p.toml",
        text('title = "t"\nmodels = ["rules"]\n[[run]]\nname = "a"\ncommand = "eval aie"\ncases = "shipped"\n'),
        read("protocols.study_plan", "read_plan"),
    ),
    ReaderTried(
        "a protocol",
        ("protocols/following.py", "yaml_files.py"),
        "aie.yaml",
        of_package("protocols/aie.yaml"),
        in_command(
            "eval", "aie", "--cases", "shipped", "--limit", 1, "--doctor", "rules", "--protocol", "{}", "--dry-run"
        ),
    ),
    ReaderTried(
        "a hospital",
        ("hospital/plan/file.py",),
        "h.yaml",
        of_package("hospital/plan/data/default.yaml"),
        in_command("run", "--residents", 5, "--visits", 1, "--days", 1, "--hospital", "{}", "--json"),
    ),
    ReaderTried(
        "a model's script",
        ("models/scripted.py",),
        "s.json",
        records(["yes", {"a": 1}]),
        read("models.scripted", "Scripted.read"),
    ),
    ReaderTried(
        "a mind's script",
        ("players/own_mind.py",),
        "s.json",
        records({"open": ["It hurts."], "speak": []}),
        read("players.own_mind", "read_script"),
    ),
    ReaderTried(
        "passages in records",
        ("retrieval/passage_files.py",),
        "p.jsonl",
        records({"id": "1", "title": "Asthma", "text": "It is."}),
        lambda path: list(__import__("polyclinic.retrieval.passage_files", fromlist=["_"]).read_passages([path])),
    ),
    ReaderTried(
        "prose",
        ("retrieval/passage_files.py",),
        "p.md",
        text("# Asthma\n\nIt is.\n\nIt was.\n"),
        lambda path: list(__import__("polyclinic.retrieval.passage_files", fromlist=["_"]).read_passages([path])),
    ),
    ReaderTried(
        "what is remembered",
        ("cli/memory.py",),
        "m.jsonl",
        records(*(_REMEMBERED | {"task": task} for task in ("examination", "diagnosis", "treatment"))),
        read("cli.memory", "_of_file"),
    ),
    ReaderTried(
        "pairs of names",
        ("metrics/disease_names.py",),
        "n.jsonl",
        records({"a": "gout", "b": "asthma", "relation": "different"}),
        read("metrics.disease_names", "read_name_pairs"),
    ),
    ReaderTried(
        "a table of ICD-10",
        ("metrics/icd/linking.py",),
        "i.csv",
        text("M10,Gout\nJ45,Asthma\n"),
        read("metrics.icd.linking", "read_entries"),
    ),
    ReaderTried(
        "recorded reports",
        ("metrics/recorded_reports.py",),
        "r.jsonl",
        records(_JUDGED),
        read("metrics.recorded_reports", "read_recorded"),
    ),
    ReaderTried("references", (), "r.jsonl", records(_JUDGED), read("metrics.recorded_reports", "read_references")),
    ReaderTried(
        "judgements",
        ("metrics/grades.py",),
        "g.jsonl",
        records({"case": "1", "doctor": "d", "judge": "rules", "version": 1, "prompts": "x", "grades": _GRADES}),
        read("metrics.grades", "read_judgements"),
    ),
    ReaderTried(
        "labelled questions",
        ("evaluations/patient_simulator/evaluation.py",),
        "l.json",
        records([labelled()]),
        read("evaluations.patient_simulator.evaluation", "read_labelled"),
    ),
    ReaderTried(
        "meetings",
        ("evaluations/tor/meetings.py",),
        "tree_of_reasoning.meetings.jsonl",
        meetings,
        read("evaluations.tor.meetings", "read_meetings"),
    ),
    ReaderTried(
        "what was typed",
        ("players/human/desk.py",),
        "k.jsonl",
        records({"seat": "doctor", "line": "x"}),
        read("players.human.desk", "read_session"),
    ),
    ReaderTried(
        "what an earlier version of the pages kept",
        ("web/practice.py",),
        "k.jsonl",
        records({"at": 1.0, "move": {"do": "say", "text": "x"}}),
        read("web.practice", "_lines"),
    ),
    ReaderTried("what is kept of the pages", (), "practice.sqlite", one_class, practice),
    ReaderTried(
        "a folder of results",
        ("results/folder.py",),
        "results.json",
        results,
        lambda path: in_command("results", "show", path.parent)(path),
    ),
)
"""Every reader of a file that a user names, or that was kept for one."""

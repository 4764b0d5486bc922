"""The commands whose results are compared with recorded ones, as they are spelled today and as they were when recorded.

A row is a list of command lines that run one after another in one folder, which has a copy of `inputs`. `{seed}` is the
seed; `{url}` is the address of a scripted model. When a command or an option is renamed, edit `TODAY` and copy the old
spelling to `RECORDED`, unless it is there already. When a field of a document is renamed, add it to `FIELDS`.
"""

_ASK = "--base-url {url} --seed {seed} --json"
_FAIL = "--set run.max-failures=100"
_EXAM = f"{_ASK} {_FAIL} --out out"

TODAY: dict[str, list[str]] = {
    # The hospital
    "run": ["run --residents 60 --days 2 --visits 12 --seed {seed} --out out --json"],
    "run-busy": ["run --residents 2000 --days 1 --set run.load=20 --visits 50 --seed {seed} --out out --json"],
    "run-warm": ["run --residents 80 --days 3 --visits 60 --seed {seed} --set run.warm-up=1 --out out --json"],
    "run-chinese": ["run --residents 40 --days 1 --visits 8 --language zh --seed {seed} --out out --json"],
    "run-replicas": ["run --residents 40 --days 1 --visits 6 --replicas 3 --seed {seed} --out out --json"],
    "run-model": [f"run --residents 40 --days 1 --visits 5 --doctor direct/a {_ASK} {_FAIL} --out out"],
    "run-learning": ["run --residents 60 --days 3 --visits 14 --learn --seed {seed} --out out --json"],
    "run-report": ["run --residents 40 --days 1 --visits 6 --seed {seed} --out out", "report out --json"],
    "evolve": [
        "cases generate --n 30 --diseases respiratory --seed {seed} --out train.jsonl",
        "cases generate --n 6 --diseases respiratory --seed 9{seed} --out test.jsonl",
        "evolve --train train.jsonl --test test.jsonl --seed {seed} --out out --json",
        "memory show out --json",
    ],
    # One visit
    "consult": ["consult shipped#p1-0000{seed} --seed {seed} --out trace.jsonl --json"],
    "consult-chinese": ["consult shipped-zh#p1-0000{seed} --seed {seed} --out trace.jsonl --json"],
    "consult-model": [
        f"consult shipped#p1-0000{{seed}} --doctor direct/a --patient direct/b {_ASK} {_FAIL} --out trace.jsonl"
    ],
    "consult-team": [f"consult inpatients#{{seed}} --doctors rules direct/a {_ASK} {_FAIL} --out trace.jsonl"],
    "ask": ["ask shipped#p1-0000{seed} --json 'Since when?' 'Do you have a fever?' 'Do you smoke?'"],
    # Evaluations
    "aie": ["eval aie --cases shipped --limit 5 --doctor rules --seed {seed} --out out --json"],
    "aie-model": [
        f"eval aie --cases shipped --limit 2 --doctor rules direct/a --patient saps:direct/p --judge direct/j {_EXAM}"
    ],
    "score-aie": [
        "eval aie --cases shipped --limit 4 --doctor rules --seed {seed} --out out",
        "score aie out --cases shipped --json",
    ],
    "mvme": ["eval mvme --cases shipped --limit 4 --doctor rules --seed {seed} --out out --json"],
    "mvme-model": [
        f"eval mvme --cases inpatients --limit 2 --doctor direct/a direct/b --judge direct/j "
        f"--set mvme.one-step=true {_EXAM}"
    ],
    "reliability": [f"eval reliability --cases shipped --limit 2 --patient direct/a --judge direct/j {_EXAM}"],
    "examiner": [f"eval examiner --cases shipped --dialogues asked.jsonl --examiner direct/a {_EXAM}"],
    "patient-simulator": [
        "cases patient-test --cases shipped --limit 6 --set patient-test.rounds=1 --seed {seed} --out labelled.json",
        f"eval patient-simulator --cases labelled.json --patient direct/a {_EXAM}",
    ],
    "medqa": [f"eval exam medqa medqa.jsonl --model direct/a direct/b --method zero_shot chain_of_thought {_EXAM}"],
    "medqa-methods": [
        f"eval exam medqa medqa.jsonl --model direct/a --method self_consistency medagents mdagents {_EXAM}"
    ],
    "medmcqa": [f"eval exam medmcqa medmcqa.jsonl --model direct/a --method zero_shot {_EXAM}"],
    "pubmedqa": [f"eval exam pubmedqa pubmedqa.json --model direct/a --method zero_shot {_EXAM}"],
    "mmlu": [f"eval exam mmlu mmlu --model direct/a --method zero_shot {_EXAM}"],
    "exam-corpus": [
        "corpus add books passages.jsonl --library lib",
        "corpus search books 'chest pain' --by bm25 --library lib --json",
        f"eval exam medqa medqa.jsonl --model direct/a --method zero_shot --shuffle --corpus lib/books {_EXAM}",
    ],
    "tor": ["eval tor --cases inpatients --limit 4 --doctor rules --seed {seed} --out out --json"],
    "tor-model": [
        f"eval tor --cases inpatients --limit 2 --model direct/a --method zero_shot --judge direct/j {_EXAM}"
    ],
    "score-director": ["score director dialogues.jsonl --reference references.jsonl --judge rules --json"],
    "score-icd": ["score icd references.jsonl --set icd.table=icd.csv --json"],
    # Sweeps over the settings of methods
    "ablation": [
        "eval exam medqa medqa.jsonl --model direct/a --match none --baseline zero_shot --temperature 1 --method "
        f"zero_shot chain_of_thought 'medagents stages=analysis|summary|consultation' {_EXAM}"
    ],
    "errors": [f"eval exam medqa medqa.jsonl --model made-up --judge direct/j {_EXAM}"],
    "study-tor": [
        "eval tor --cases inpatients --limit 1 --model direct/a --method 'tree_of_reasoning tree=false' "
        "'tree_of_reasoning without=laboratory,radiology,pathology|radiology,pathology|pathology' "
        "'tree_of_reasoning without=laboratory,radiology,pathology|radiology,pathology|pathology|laboratory|radiology "
        "removed=withheld' "
        f"'tree_of_reasoning cross_verification=false' tree_of_reasoning {_EXAM}"
    ],
    # Cases, knowledge and results
    "generate": [
        "cases generate --n 12 --seed {seed} --out made.jsonl",
        "cases show made.jsonl --json",
        "cases check made.jsonl --json",
    ],
    "ceiling": [
        "cases generate --n 60 --diseases respiratory --seed {seed} --out made.jsonl",
        "cases check made.jsonl --ceiling --diseases respiratory --json",
    ],
    "convert": [
        "cases generate --n 4 --seed {seed} --out made.jsonl",
        "cases convert made.jsonl --format fhir --out bundle.json",
        "cases show made.jsonl#p{seed}-00002 --truth --json",
    ],
    "knowledge": ["knowledge check --n 40 --seed {seed} --json"],
    "names": ["knowledge compare pairs.jsonl --judge direct/j --base-url {url} --json"],
    "compare": [
        f"eval exam medqa medqa.jsonl --model direct/a direct/b {_ASK} {_FAIL} --out two",
        "results compare two --json",
        "results show two --json",
    ],
}

RECORDED: dict[str, list[str]] = {
    "generate": [
        "cases generate --n 12 --seed {seed} --out made.jsonl",
        "cases list made.jsonl --json",
        "cases check made.jsonl --json",
    ],
    "convert": [
        "cases generate --n 4 --seed {seed} --out made.jsonl",
        "cases convert made.jsonl --to fhir --out bundle.json",
        "cases show made.jsonl#p{seed}-00002 --truth --json",
    ],
    "ablation": [
        "study ablation --questions medqa.jsonl --layout medqa --model direct/a "
        "--base-url {url} --seed {seed} --json --max-failures 100 --out out"
    ],
    "names": ["names compare pairs.jsonl --judge direct/j --base-url {url} --json"],
    "compare": [
        "eval medqa --questions medqa.jsonl --model direct/a direct/b "
        "--base-url {url} --seed {seed} --json --max-failures 100 --out two",
        "results compare two --json",
        "results join two --json",
    ],
}
"""Rows that were spelled otherwise when they were recorded."""

SETTINGS = {
    **{f"eval exam {name} ": f"eval {name} --questions " for name in ("medqa", "medmcqa", "pubmedqa", "mmlu")},
    "--set run.max-failures=100": "--max-failures 100",
    "--set run.warm-up=1": "--warm-up 1",
    "--set mvme.one-step=true": "--one-step",
    "--set patient-test.rounds=1": "--rounds 1",
    "--set icd.table=icd.csv": "--table icd.csv",
    "knowledge check --n 40": "knowledge check --patients 40",
    **{
        f"{command} {file}": f"{command} --case {file}"
        for command in ("consult", "ask")
        for file in ("shipped", "inpatients")
    },
}
"""Parts of rows that were spelled otherwise when they were recorded; a row in `RECORDED` is taken as it is."""

PARTS = {"compare": {2: "table"}}
"""Lines, by row and number from 0, whose recorded document is a field of today's document."""

FIELDS: dict[str, str] = {}
"""Fields that were renamed since: today's name and the recorded one."""

IN_TEST = (
    "run", "run-learning", "consult", "consult-chinese", "aie", "mvme", "medqa", "tor", "score-director", "score-icd",
    "generate", "compare",
)  # fmt: skip
"""The rows that `make test` compares, with one seed each."""

SEEDS = (1, 2, 3)

"""Commands and options that have other names now: who gives an old one gets one line that says the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COMMANDS: Mapping[str, str] = {
    "results join": "results show DIR...",
    "results export": "results show DIR... --format LAYOUT; or results compare DIR... --format LAYOUT",
    "cases list": "cases show FILE",
    "cases schema": "cases check --schema",
    "cases personas": "cases convert FILE --persona MANNER",
    "corpus list": "corpus search",
    "protocols list": "config show",
    "protocols show": "config show NAME",
    "results list": "results show DIR... --rows runs",
    "models install": "models check --install NAME",
    "names compare": "knowledge compare",
    "export-site": "report DIR... --format site --out FOLDER",
    "check": "models check",
    **{f"eval {name}": f"eval exam {name} FILE" for name in ("medqa", "medmcqa", "pubmedqa", "mmlu")},
    "study ablation": "eval exam EXAM FILE --method 'medagents stages=analysis|summary|consultation'",
    "study experts": "eval exam EXAM FILE --method 'medagents question_experts=1|2|3'",
    "study errors": "eval exam EXAM FILE --judge MODEL",
    "study medagents": "study run papers/medagents-table2.toml",
    "study medagent-zero": "study run papers/agent-hospital-table4.toml",
    "study tor": "study run papers/tor-table2.toml",
    "memory near": "memory show DIR --near TEXT",
    "memory export": "memory show DIR --out FILE",
    "memory import": "memory build FILE --out DIR",
    "memory merge": "memory build DIR... --out NEW",
    "memory rebuild": "memory build DIR --embedder NAME --out NEW",
    "memory link": "memory build URL#NAME --out DIR",
}
"""By old command, the new one."""

_KEPT = "--out, which keeps answers and results: a folder, or postgresql://HOST/DATABASE; the same command resumes"
EVERYWHERE: Mapping[str, str] = {"--journal": _KEPT, "--store": _KEPT}
"""What replaces an old option of every command that had it."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "results show": {"--to": "--format", "--what": "--rows"},
    "results compare": {"--to": "--format"},
    "report": {"--export": "--format"},
    "replay": {
        "--record": "--visit",
        **dict.fromkeys(("--html", "--svg", "--out"), "polyclinic report DIR --format site --out FOLDER"),
    },
    "cases generate": {"--layout": "--format"},
    "corpus search": {"--k": "--limit"},
    "memory read": {"--passages": "--limit"},
    "knowledge check": {"--patients": "--n"},
    "evolve": {"--resume": "the command that began the practice, with the same --out"},
    "cases show": {"--strict": "cases check FILE"},
    "cases check": {"--n": "cases generate --n N, and check its file"},
    "cases convert": {"--to": "--format", "--manner": "--persona", "--mind": "--writer"},
    "run": {
        "--workers": "--on local:N",
        "--resume": "the command that began the run, with the same --out",
        "--fork": "a new --out; answers of a database are used again",
        "--preset": "--hospital agent-hospital",
    },
    "eval aie": {"--figures": "--json: judgements, by_turn and truncated"},
    "eval exam": {"--sample": "--limit", "--all": "--limit all"},
    "memory show": {"--last": "--limit", "--k": "--limit"},
}
"""By command, what replaces each old option."""


def moved_command(words: Sequence[str]) -> str | None:
    """Returns the line for words that begin with an old command."""
    for n in (2, 1):
        if (old := " ".join(words[:n])) in COMMANDS:
            return f"'{old}' is gone; use polyclinic {COMMANDS[old]}"
    return None


def moved_option(command: Sequence[str], option: str) -> str | None:
    """Returns the line for an old option of a command."""
    new = OPTIONS.get(" ".join(command), {}).get(option) or EVERYWHERE.get(option)
    return None if new is None else f"{option} is gone; use {new}"

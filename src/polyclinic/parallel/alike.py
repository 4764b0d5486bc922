"""What has to be the same wherever parts of a command run, and the line that refuses a machine where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polyclinic.errors import UserError

Installed = Mapping[str, str]
"""What a machine has: its name, the versions of `polyclinic` and `Python`, and in `files` a digest of ours."""

_NONE = "none"
_MOST_NAMED = 3  # machines in one line


def looking() -> Callable[[], Installed]:
    """Returns a function that tells what is installed where it is called.

    It travels as a whole, and by no name of ours: the polyclinic there may be one that has no such function, or none.
    """

    def look() -> Installed:
        import hashlib  # noqa: PLC0415 - imported where it is called
        import importlib  # noqa: PLC0415
        import platform  # noqa: PLC0415
        import sys  # noqa: PLC0415
        from pathlib import Path  # noqa: PLC0415

        has = {"machine": platform.node(), "Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
        try:
            polyclinic = importlib.import_module("polyclinic")
        except ImportError:
            return {**has, "polyclinic": "none"}
        digest = hashlib.blake2b(digest_size=16)
        folder = Path(str(polyclinic.__file__)).parent
        kinds = {".py", ".md", ".yaml", ".json", ".jsonl", ".toml", ".txt", ".csv"}
        for path in sorted(path for path in folder.rglob("*") if path.suffix in kinds):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(path.read_bytes())
        return {**has, "polyclinic": str(getattr(polyclinic, "__version__", "none")), "files": digest.hexdigest()}

    return look


def refuse_others(on: str, machines: Mapping[str, object]) -> None:
    """Refuses machines on which something else would be computed than here.

    Args:
        on: what `--on` says.
        machines: what each tells of itself, by its name; one of another version may tell something that is unknown.

    Raises:
        UserError: that is so, with what is there, what is here, and what to do.
    """
    here = looking()()
    for what in ("Python", "polyclinic"):
        others = dict[str, list[str]]()
        for machine, there in machines.items():
            version = there.get(what, _NONE) if isinstance(there, Mapping) else "of another version"
            if version != here[what]:
                others.setdefault(version, []).append(machine)
        if others:
            told = ", ".join(f"{what} {version} on {_named(names)}" for version, names in others.items())
            raise UserError(f"--on {on}: {told}, {what} {here[what]} here; install {what} {here[what]} there")
    edited = [
        name for name, there in machines.items() if isinstance(there, Mapping) and there.get("files") != here["files"]
    ]
    if edited:
        raise UserError(
            f"--on {on}: polyclinic {here['polyclinic']} on {_named(edited)} has other files than the same version "
            "here; install the same there, and start Ray there again"
        )


def _named(machines: list[str]) -> str:
    more = len(machines) - _MOST_NAMED
    return ", ".join(machines[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

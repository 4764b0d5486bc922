"""What a run is made of beside its options, as short hashes: knowledge, prompts, words, and files of others."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.metadata
from collections.abc import Iterable, Mapping
from pathlib import Path

from polyclinic.errors import BadInput
from polyclinic.opened_files import opened

_PACKAGE = Path(__file__).parent
_BYTES = 8


@functools.cache
def of_package() -> dict[str, str]:
    """Returns the fingerprints of the package's knowledge, its prompts and its words."""
    knowledge = sorted(one for one in (_PACKAGE / "knowledge").rglob("*") if one.suffix in {".yaml", ".csv"})
    prompts = sorted(_PACKAGE.rglob("*.md"))
    words = sorted(one for one in _PACKAGE.rglob("*.yaml") if not one.is_relative_to(_PACKAGE / "knowledge"))
    return {"knowledge": _of(knowledge), "prompts": _of(prompts), "words": _of(words)}


def of_parts(*names: str) -> str:
    """Returns the fingerprint of files of the package, and of all files of its folders, named from its root."""
    paths = [_PACKAGE / name for name in names]
    return _of(sorted(one for path in paths for one in (path.glob("*.*") if path.is_dir() else (path,))))


def of_file(path: Path) -> str:
    """Returns the fingerprint of a file."""
    if not path.is_file():
        raise BadInput("cannot be read again to see whether it is the same; save it as a file", path=path)
    with opened(path) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=_BYTES)).hexdigest()


@functools.cache
def check_installed(package: str, *names: str) -> None:
    """Checks that files of an installed package are those that were installed, by the SHA-256 that was noted then."""
    for file in importlib.metadata.files(package) or ():
        if file.hash is None or file.hash.mode != "sha256" or not file.name.endswith(names):
            continue
        path = Path(str(file.locate()))
        try:
            with path.open("rb") as opened:
                found = hashlib.file_digest(opened, "sha256").digest()
        except OSError as error:
            raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
        if base64.urlsafe_b64encode(found).decode().rstrip("=") != file.hash.value:
            again = f"install it anew: pip install --force-reinstall --no-deps {package}"
            raise BadInput(f"is not the file that was installed (its sha256 is another); {again}", path=path)


def others(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Returns the names of what is another now than it was before; what was not noted before is none of it."""
    return [name for name, print_ in before.items() if now.get(name, "") != print_]


def _of(paths: Iterable[Path]) -> str:
    hashed = hashlib.blake2b(digest_size=_BYTES)
    for path in paths:
        hashed.update(f"{path.relative_to(_PACKAGE).as_posix()}\0".encode())
        hashed.update(path.read_bytes() + b"\0")
    return hashed.hexdigest()

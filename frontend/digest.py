"""Says what the built pages were made from: a line for each source, with its SHA-256, kept beside the build.

`python frontend/digest.py` writes them after a build. A test compares them with the sources, so that nobody forgets to
build; it needs no Node.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent
KEPT = HERE.parent / "src" / "polyclinic" / "web" / "static" / "sources.txt"
_SOURCES = (
    "*.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite*.config.js",
    "src/**/*",
    "public/**/*",
)


def digests() -> str:
    """Returns a line for each source."""
    found = sorted({path for pattern in _SOURCES for path in HERE.glob(pattern) if path.is_file()})
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE).as_posix()}\n" for path in found
    )


if __name__ == "__main__":
    KEPT.write_text(digests(), encoding="utf-8")

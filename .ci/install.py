"""Installs into the environment that runs it: by uv, in a third of pip's time, or by pip where uv is not to be had.

    .venv/bin/python .ci/install.py --editable '.[dev]'

What pip has been told, by its files and its environment, of where packages come from, uv is told too. Where pip has
been told something that has no like in uv, pip installs; also where uv cannot, so that pip says what is wrong.
"""

import os
import shutil
import subprocess
import sys
import sysconfig

PIP = [sys.executable, "-m", "pip"]

# A setting of pip and the variable of uv for it, of which more than one may be parted by blanks in pip.
WHERE_FROM = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}
OF_NO_MATTER = {
    *("disable-pip-version-check", "default-timeout", "timeout", "retries", "cache-dir", "no-cache-dir", "no-compile"),
    *("progress-bar", "quiet", "verbose", "no-input", "no-color", "root-user-action", "require-virtualenv"),
    *("no-warn-script-location", "no-python-version-warning", "break-system-packages", "resume-retries"),
}


def like_pip() -> dict[str, str] | None:
    """Returns the variables that tell uv what pip has been told; None where something cannot be told."""
    lines = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True).stdout.splitlines()
    told = {}
    for section in ("global", "install", ":env:"):  # a later one goes before
        told |= {
            name: value.strip().strip("'\"")
            for name, _, value in (
                line.removeprefix(section + ".").partition("=") for line in lines if line.startswith(section + ".")
            )
        }
    if not told.keys() <= WHERE_FROM.keys() | OF_NO_MATTER:
        return None
    found = {
        WHERE_FROM[name]: value.replace("\\n", " ") for name, value in told.items() if name in WHERE_FROM and value
    }
    if "UV_FIND_LINKS" in found:
        found["UV_FIND_LINKS"] = ",".join(found["UV_FIND_LINKS"].split())
    # As pip does: the best version of any index.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match"} | found


def find_uv() -> str | None:
    """Returns the program uv, fetched by pip into this environment where there is none."""
    scripts = sysconfig.get_path("scripts")
    if (uv := shutil.which("uv", path=scripts) or shutil.which("uv")) is None:
        fetch = ["install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--only-binary", ":all:", "uv"]
        subprocess.run([*PIP, *fetch], capture_output=True, check=False)
        uv = shutil.which("uv", path=scripts)
    return uv


def by_uv(packages: list[str]) -> bool:
    """Returns whether uv installed them."""
    told = like_pip()
    if told is None or (uv := find_uv()) is None:
        return False
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, *packages]
    return subprocess.run(command, env=told | os.environ, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    if not by_uv(sys.argv[1:]):
        by_pip = [*PIP, "install", "--quiet", "--disable-pip-version-check", "--no-compile", *sys.argv[1:]]
        sys.exit(subprocess.run(by_pip, check=False).returncode)

"""Keys where none belongs: what is said of an endpoint is kept with a run and printed, and a key must be in neither."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from polyclinic.errors import BadInput

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_NAMES_A_KEY = re.compile(r"key|token|secret|sig(?:nature)?$|password|passwd|pwd|auth|credential|code$", re.IGNORECASE)
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|sk_|pk-|rk_|gsk_|hf_|xai-|ghp_|gho_|github_pat_|glpat-|AKIA|AIza|ya29\.)"
    r"(?=[A-Za-z0-9_.-]*\d)[A-Za-z0-9_.-]{16,}"
)
"""As providers begin their keys."""
_LONG = 16  # characters from which on letters and digits mixed are a key, and no name


def check_address(url: str) -> None:
    """Refuses an address that holds a password, or a key in its query, and does not say it again."""
    try:
        parts = urlsplit(url)
        held = parts.username or parts.password
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return  # who connects says what is wrong with it
    check_no_key(parts.path, "the address of an endpoint")
    if held:
        raise BadInput("the address of an endpoint holds a user name or password; keys come from the environment only")
    for name, value in query:
        if value and (_NAMES_A_KEY.search(name) or _looks_like_a_key(value)):
            shown = name if not _looks_like_a_key(name) else "..."
            raise BadInput(
                f"the address of an endpoint holds what may be a key ({shown}=...); keys come from the environment "
                "only: put it into a variable, and name that with models.api-key-env"
            )


def check_no_key(said: object, where: str) -> None:
    """Refuses a text, or anything made of texts, in which a key stands, and does not say it again."""
    if isinstance(said, Mapping):
        said = [*said, *said.values()]
    if isinstance(said, str):
        if _KEYS.search(said):
            problem = f"{where} holds what looks like a key; keys come from the environment only"
            raise BadInput(f"{problem}: put it into a variable, and name that with models.api-key-env")
    elif isinstance(said, Sequence):
        for one in said:
            check_no_key(one, where)


def check_variable(name: str) -> None:
    """Refuses what is no name of an environment variable, above all a key itself, and does not say it again."""
    if name in os.environ:
        return
    if not _VARIABLE.fullmatch(name) or _looks_like_a_key(name):
        raise BadInput(
            "models.api-key-env (in a file api_key_env) takes the name of an environment variable, and this looks "
            "like the key itself; put the key into a variable: export MY_KEY=..., models.api-key-env MY_KEY"
        )


def _looks_like_a_key(text: str) -> bool:
    letters = any(c.islower() for c in text) or text.startswith(("AKIA", "AIza"))
    return len(text) >= _LONG and letters and any(c.isdigit() for c in text)

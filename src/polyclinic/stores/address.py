"""Where a store is: `postgresql://USER@HOST:PORT/DATABASE?schema=NAME`, as libpq has it, and the schema is ours.

An address may hold a password. It is never said again: what is printed and kept is `StoreAddress.shown`.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote, urlencode

from polyclinic.errors import UserError

SCHEMA = "polyclinic"
"""The schema of the database in which everything is, unless the address names another."""

_SCHEMES = ("postgresql://", "postgres://")
_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[^/?#@:,\[\]]*)(?::\d*)?"
_ADDRESS = re.compile(
    rf"postgres(?:ql)?://(?:(?P<user>[^@/?#]*)@)?(?P<host>{_HOST}(?:,{_HOST})*)(?:/(?P<base>[^?#@/]*))?"
)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SECRETS = ("password", "sslpassword")
PASSWORD, KEY_PASSWORD = "PGPASSWORD", "POLYCLINIC_SSLPASSWORD"
"""Variables that hold what an address need not: the password, as libpq has it, and that of the client's key, for which
libpq has none."""

_HIDDEN = "***"
_WITH_PASSWORD = re.compile(r"(postgres(?:ql)?:/{1,2}[^\s:@/]*):\S*@|\b((?:ssl)?password\s*=\s*)(?:'[^']*'|[^\s&'#]+)")
"""Also as a path has it, which loses a stroke, and as libpq's other form has it."""


class StoreAddress(NamedTuple):
    """An address, taken apart.

    Attributes:
        conninfo: what libpq is told; it may hold a password.
        schema: the name of the schema.
        shown: what may be printed and kept.
    """

    conninfo: str
    schema: str
    shown: str

    @property
    def password(self) -> str:
        """The password that stands in it; "" for none."""
        address, _, query = self.conninfo.partition("?")
        found = _ADDRESS.match(address)
        said = dict(_said(query)).get("password", "")
        return said or unquote((found["user"] or "" if found is not None else "").partition(":")[2])

    @property
    def secrets(self) -> dict[str, str]:
        """The passwords that stand in it, by the variables that hand them to a process which is given `kept`."""
        _, _, query = self.conninfo.partition("?")
        held = {PASSWORD: self.password, KEY_PASSWORD: dict(_said(query)).get("sslpassword", "")}
        return {name: secret for name, secret in held.items() if secret}

    @property
    def kept(self) -> str:
        """The address with the user and without passwords, as it may be kept in a file of ours."""
        address, _, query = self.conninfo.partition("?")
        scheme, _, rest = address.partition("://")
        user, at, place = rest.rpartition("@")
        said = [(name, value) for name, value in _said(query) if name not in _SECRETS]
        said += [("schema", self.schema)] if self.schema != SCHEMA else []
        told = f"{scheme}://{user.partition(':')[0]}{at}{place}"
        return f"{told}?{urlencode(said, quote_via=quote)}" if said else told

    def without_secrets(self, text: str) -> str:
        """Returns what a server or a library said, without the passwords that may stand in it."""
        _, _, query = self.conninfo.partition("?")
        found = _ADDRESS.match(self.conninfo)
        user = found["user"] or "" if found is not None else ""
        secrets = {user.partition(":")[2], *(value for name, value in _said(query) if name in _SECRETS)}
        secrets |= {form(secret) for secret in secrets for form in (unquote, partial(quote, safe=""))} | {
            os.environ.get(name, "") for name in (PASSWORD, KEY_PASSWORD)
        }
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text


def is_store(text: object) -> bool:
    """Whether this names a database, and no file."""
    return isinstance(text, str) and text.startswith(_SCHEMES)


def read_address(text: str) -> StoreAddress:
    """Takes an address apart.

    Raises:
        UserError: it is none; it is not said again, as a password may stand in it.
    """
    whole, _, fragment = text.partition("#")
    address, _, query = whole.partition("?")
    found = _ADDRESS.fullmatch(address)
    # A sign that stands where it may not is one of a password, which would be taken for a part of the address.
    if found is None or fragment or "@" in query:
        signs = "signs such as @ / ? # in a password are written %40 %2F %3F %23"
        raise UserError(f"--store needs the address of a database, postgresql://USER@HOST:PORT/DATABASE; {signs}")
    said = _said(query)
    schema = next((value for name, value in said if name == "schema"), SCHEMA)
    if not _NAME.fullmatch(schema):
        raise UserError(f"--store ?schema={schema}: a schema is named in small letters, digits and _, at most 63")
    rest = urlencode([(name, value) for name, value in said if name != "schema"], quote_via=quote)
    where = f"postgresql://{found['host']}/{found['base'] or ''}"
    return StoreAddress(
        conninfo=f"{address}?{rest}" if rest else address,
        schema=schema,
        shown=where if schema == SCHEMA else f"{where}?schema={schema}",
    )


def _said(query: str) -> list[tuple[str, str]]:
    """Returns the names of a query with their values as libpq reads them, to which + is a sign and no space."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return [(unquote(name), unquote(value)) for name, _, value in pairs]


def without_passwords(text: str) -> str:
    """Returns a text in which no address of a database has a password."""
    return _WITH_PASSWORD.sub(lambda found: f"{found[2]}{_HIDDEN}" if found[2] else f"{found[1]}:{_HIDDEN}@", text)


def shown(text: str) -> str:
    """Returns what may be printed and kept of an address, of one that cannot be read too."""
    try:
        return read_address(text).shown
    except UserError:
        return "postgresql://(not kept)"

"""Asks an application without a network."""

import asyncio
import json
from urllib.parse import quote

HEADERS = {"host": "localhost:8765"}


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def document(self):
        return json.loads(self.body)


async def asked(
    application, path: str, *, method: str = "GET", body: bytes = b"", leaves: bool = False, **headers: str
) -> Answer:
    """Returns an answer; `content_type="..."` is the header `content-type`. Who `leaves` does so within the body."""
    path, _, query = path.partition("?")
    told = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in told.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }
    coming = [{"type": "http.request", "body": body, "more_body": leaves}]
    came: list[dict] = []

    async def receive():
        if coming:
            return coming.pop()
        if leaves:
            return {"type": "http.disconnect"}
        await asyncio.Event().wait()

    async def send(message):
        came.append(message)

    await application(scope, receive, send)
    start = next(one for one in came if one["type"] == "http.response.start")
    content = b"".join(one.get("body", b"") for one in came if one["type"] == "http.response.body")
    return Answer(start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, content)

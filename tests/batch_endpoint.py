"""An endpoint that takes batches too, and fails at them on purpose."""

from collections import Counter

import msgspec
from aiohttp import web

from polyclinic.testing.endpoint import Endpoint, completion, failure, reply


class BatchEndpoint(Endpoint):
    """An endpoint with `/v1/files` and `/v1/batches`; `batches` says how they go, see `Batches`."""

    def __init__(self, *, batches, **options):
        super().__init__(**options)
        self.batches = Batches(self._of_batch, **batches)

    def add_to(self, app):
        super().add_to(app)
        self.batches.add_to(app)

    async def _of_batch(self, body, raw):
        """Answers one request of a batch; a fault is a 500."""
        self.requests += 1
        self.bodies.append(body)
        if (lacking := self._lacking(body)) is not None:
            return 400, msgspec.json.encode({"error": {"message": lacking[0], "param": lacking[1]}})
        fault = self._fault(raw)
        if fault is not None:
            self.met[fault] += 1
            return 500, b'{"error": {"message": "on purpose"}}'
        self.answered += 1
        return 200, completion(body, self._value(body, raw))


class Batches:
    """Takes files and batches, and answers them when they are looked at.

    Args:
        complete: answers one request.
        looks: how often a batch is looked at before it is over.
        expire: how many batches, the first ones, expire with every other request unanswered.
        refuse: how many batches, the first ones, are refused.
        hidden: how many batches, the first ones, are made without an answer that says so.
        fails: how many requests, the first ones, meet a fault: "limited", for a batch, are too many (429); "declined",
            for a batch, are not taken (400); "silent" looks meet an error (500); answers that are "unread" cannot be
            fetched (500), and those that are "short" come to an end too early, and nothing says so.
    """

    def __init__(self, complete, *, looks=1, expire=0, refuse=0, hidden=0, **fails):
        self._complete, self._looks, self._expire, self._refuse, self._hidden = complete, looks, expire, refuse, hidden
        self.files = {}
        self.made = {}
        self._left = {}
        self._met = Counter(fails)

    def _meets(self, kind):
        self._met[kind] -= 1
        return self._met[kind] >= 0

    def add_to(self, app):
        """Adds its addresses to a server."""
        app.router.add_post("/v1/files", self._take)
        app.router.add_get("/v1/files/{id}/content", self._give)
        app.router.add_post("/v1/batches", self._make)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._look)

    async def _take(self, request):
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField) and form["purpose"] == "batch"
        return reply(msgspec.json.encode({"id": self._kept(file.file.read()), "object": "file"}))

    async def _give(self, request):
        if self._meets("unread"):
            return failure(500, "not now")
        body = self.files[request.match_info["id"]]
        return web.Response(body=body[: len(body) * 2 // 3] if self._meets("short") else body)

    async def _make(self, request):
        body = msgspec.json.decode(await request.read())
        if self._meets("limited"):
            return failure(429, "too many batches")
        if self._meets("declined"):
            return failure(400, "Enqueued token limit reached")
        id = f"batch_{len(self.made) + 1}"
        self.made[id] = {"id": id, "status": "in_progress", "metadata": body.get("metadata")}
        self.made[id]["input_file_id"] = body["input_file_id"]
        self._left[id] = self._looks
        if len(self.made) <= self._hidden:
            return failure(500, "made, and not said")
        return reply(msgspec.json.encode(self.made[id]))

    async def _list(self, _):
        return reply(msgspec.json.encode({"data": list(self.made.values())}))

    async def _look(self, request):
        batch = self.made.get(request.match_info["id"])
        if batch is None:
            return failure(404, "no such batch")
        if self._meets("silent"):
            return failure(500, "not now")
        self._left[batch["id"]] -= 1
        if self._left[batch["id"]] <= 0 and batch["status"] == "in_progress":
            await self._end(batch)
        return reply(msgspec.json.encode(batch))

    async def _end(self, batch):
        number = int(batch["id"].removeprefix("batch_"))
        if number <= self._refuse:
            batch |= {"status": "failed", "errors": {"data": [{"message": "the file is refused on purpose"}]}}
            return
        expires = number <= self._expire
        lines = {200: [], 500: []}
        for place, line in enumerate(self.files[batch["input_file_id"]].splitlines()):
            asked = msgspec.json.decode(line)
            if expires and place % 2:
                error = {"code": "batch_expired", "message": "this batch expired"}
                lines[500].append({"custom_id": asked["custom_id"], "response": None, "error": error})
                continue
            status, body = await self._complete(asked["body"], line)
            response = {"status_code": status, "request_id": f"r{place}", "body": msgspec.Raw(body)}
            came = {"id": f"l{place}", "custom_id": asked["custom_id"], "response": response, "error": None}
            lines[200 if status == 200 else 500].append(came)
        batch["status"] = "expired" if expires else "completed"
        batch["request_counts"] = {"completed": len(lines[200]), "failed": len(lines[500])}
        for name, status in (("output_file_id", 200), ("error_file_id", 500)):
            text = b"\n".join(map(msgspec.json.encode, lines[status]))
            batch[name] = self._kept(text) if text else None

    def _kept(self, text):
        id = f"file-{len(self.files) + 1}"
        self.files[id] = text
        return id

"""A scripted model whose answers depend on what is asked and on the seed, and on nothing else."""

import hashlib
import json
import random

from polyclinic.testing.instances import WORDS, instance


def answers(seed):
    """Returns the function that answers a request: a value that its schema allows, or a sentence with an option."""

    def answer(body):
        asked = [body["model"], body["messages"], body.get("seed"), body.get("temperature"), seed]
        digest = hashlib.blake2b(json.dumps(asked, sort_keys=True).encode(), digest_size=8).digest()
        rng = random.Random(int.from_bytes(digest))
        form = body.get("response_format", {}).get("json_schema")
        schema = form["schema"] if form is not None else _schema_in(body["messages"][-1]["content"])
        if schema is not None:
            return instance(schema, rng)
        return f"It has {' '.join(rng.choices(WORDS, k=4))}. The answer is ({rng.choice('ABCD')})."

    return answer


def _schema_in(said):
    at = said.find('{"') if isinstance(said, str) else -1
    try:
        schema = json.loads(said[at:]) if at >= 0 else None
    except ValueError:
        return None
    return schema if isinstance(schema, dict) and "properties" in schema else None

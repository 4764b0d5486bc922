"""One seed gives everything: each decision draws from a generator of its own."""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *purpose: str | int) -> random.Random:
    """Returns the generator of one decision, independent of every other decision's and of their order.

    The purpose is who decides what, and its number where there are several: `derive(7, "case-12", "patient", 3)`.
    """
    key = "\x1f".join([str(seed), *map(str, purpose)])
    return random.Random(int.from_bytes(hashlib.blake2b(key.encode(), digest_size=16).digest()))

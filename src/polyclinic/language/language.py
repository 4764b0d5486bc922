"""Which language a text is in: English or Chinese."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]

"""Fakes for tests, ours and users': a model endpoint on loopback that misbehaves on purpose. For tests only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.testing.endpoint import Endpoint
    from polyclinic.testing.process import EndpointProcess

__all__ = [
    "Endpoint",
    "EndpointProcess",
]

__getattr__ = lazily(
    __name__,
    {
        "endpoint": "Endpoint",
        "process": "EndpointProcess",
    },
)

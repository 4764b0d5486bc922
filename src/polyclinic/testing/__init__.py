"""Fakes for tests, ours and users': a model endpoint on loopback that misbehaves on purpose. For tests only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.testing.endpoint import Endpoint as Endpoint
    from polyclinic.testing.endpoint import EndpointProcess as EndpointProcess

__getattr__ = lazily(__name__, __file__)

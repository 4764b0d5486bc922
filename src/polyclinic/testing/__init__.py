"""Fakes for tests, ours and users': a model endpoint on loopback that misbehaves on purpose. For tests only."""

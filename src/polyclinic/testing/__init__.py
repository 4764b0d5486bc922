"""Fakes for tests, ours and users'."""

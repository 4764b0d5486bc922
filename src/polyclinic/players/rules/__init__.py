"""Minds without a model: what they know comes from the medical knowledge and the record."""

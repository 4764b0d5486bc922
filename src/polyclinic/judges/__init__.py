"""Judges: a model, rules or people say how good something is; how their answers are read, counted and kept."""

"""Visits: one case and its players, several doctors who confer, and what came of it."""

"""Measurements: `make bench` runs them all, `python -m bench consultations` one."""

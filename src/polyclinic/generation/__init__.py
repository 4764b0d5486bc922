"""Patients drawn from the medical knowledge, and how well they can be told apart at all."""

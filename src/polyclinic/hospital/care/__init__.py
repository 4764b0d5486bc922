"""The medical part of a visit: triage, consultations, plan, pharmacy, here or in other processes."""

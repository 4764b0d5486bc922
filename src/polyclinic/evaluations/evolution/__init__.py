"""Doctors who learn: practice on thousands of patients, and tests on those kept apart (Agent Hospital, §4 and §5)."""

"""Diagnoses compared as codes of ICD-10 (ai-hospital §3.2)."""

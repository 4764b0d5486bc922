"""Minds without a model: what they know comes from the medical knowledge and the record.

Asked for what is not theirs to answer, they raise `ScriptError`.
"""

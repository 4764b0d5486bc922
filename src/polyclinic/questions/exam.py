"""A question of an exam with its key. No method may import this module."""

from __future__ import annotations

import msgspec

from polyclinic.cases.presentation import Question


class ExamQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question, which holds no answer, the keys of the right options, and its subject, where the source names one."""

    question: Question
    key: tuple[str, ...]
    subject: str = ""

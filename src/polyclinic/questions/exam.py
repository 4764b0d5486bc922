"""A question of an exam with its key. No method may import this module."""

from __future__ import annotations

import msgspec

from polyclinic.cases.presentation import Question


class ExamQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question and what is right.

    Attributes:
        question: what is asked; holds no answer.
        key: keys of the right options.
        subject: what it is about, where the source says so.
    """

    question: Question
    key: tuple[str, ...]
    subject: str = ""

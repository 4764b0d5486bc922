"""What a person in the doctor's chair can do: moves, as a page sends them and a session keeps them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.players.human.advice import Rung

LONGEST = 4000  # Letters of a text of a move
MOST = 40  # Names, diagnoses or points of a move's list

_Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]
_Names = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=MOST)]
_Diagnoses = Annotated[tuple[Diagnosis, ...], msgspec.Meta(max_length=MOST)]


class _Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do"):
    pass


class SayMove(_Move, frozen=True, kw_only=True, tag="say"):
    """Says something to the patient."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]


class OrderMove(_Move, frozen=True, kw_only=True, tag="order"):
    """Orders examinations by name."""

    names: Annotated[_Names, msgspec.Meta(min_length=1)]


class ConcludeMove(_Move, frozen=True, kw_only=True, tag="conclude"):
    """Ends the talk, with last words or the usual ones."""

    text: _Text = ""


class ReportMove(_Move, frozen=True, kw_only=True, tag="report"):
    """Hands in the report, which ends the visit."""

    diagnoses: _Diagnoses = ()
    symptoms: _Names = ()
    examinations: _Names = ()
    rationale: _Names = ()
    treatment: _Names = ()
    differential: _Diagnoses = ()

    @property
    def report(self) -> Report:
        """The report."""
        return Report(**{field: getattr(self, field) for field in self.__struct_fields__})


class NoteMove(_Move, frozen=True, kw_only=True, tag="note"):
    """Notes what it may be now, each with its probability; the patient hears nothing of it."""

    diagnoses: _Diagnoses


class HintMove(_Move, frozen=True, kw_only=True, tag="hint"):
    """Asks for a hint."""

    rung: Rung


class UndoMove(_Move, frozen=True, kw_only=True, tag="undo"):
    """Takes back the last thing that was said, ordered or concluded; hints and notes stay as they were."""


Move = SayMove | OrderMove | ConcludeMove | ReportMove | NoteMove | HintMove | UndoMove
Turn = SayMove | OrderMove | ConcludeMove | ReportMove

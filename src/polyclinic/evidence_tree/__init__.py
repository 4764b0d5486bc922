"""Evidence trees: diagnoses, the reasoning for each, and for each piece of evidence where in the record it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.evidence_tree.tree import merge as merge
    from polyclinic.evidence_tree.sources import RecordPart as RecordPart, divide as divide
    from polyclinic.evidence_tree.tree import parse_tree as parse_tree, print_tree as print_tree
    from polyclinic.evidence_tree.sources import Pointer as Pointer, RecordText as RecordText, texts_of as texts_of
    from polyclinic.evidence_tree.support import Support as Support, Supporter as Supporter
    from polyclinic.evidence_tree.tree import EvidenceTree as EvidenceTree

__getattr__ = lazily(__name__, __file__)

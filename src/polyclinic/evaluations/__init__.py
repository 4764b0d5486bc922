"""Evaluations: published ones, declared and held by one runner, and the means to declare your own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.evaluations.evaluation import (
        Evaluation as Evaluation,
        Opened as Opened,
        Plan as Plan,
        Plays as Plays,
        Setup as Setup,
    )
    from polyclinic.evaluations.measuring import measured as measured
    from polyclinic.results.folder import ItemMeasure as ItemMeasure
    from polyclinic.run.output import Output as Output
    from polyclinic.run.options import CaseOptions as CaseOptions, Doctors as Doctors

__getattr__ = lazily(__name__, __file__)

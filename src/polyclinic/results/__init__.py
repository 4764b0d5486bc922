"""What runs leave behind, and what many of them come to: one folder, one table, comparisons, files, a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.results.joining import compare_results as compare_results
    from polyclinic.results.folder import ItemRow as ItemRow, RunRecord as RunRecord
    from polyclinic.results.joining import join as join
    from polyclinic.results.folder import read_results as read_results

__getattr__ = lazily(__name__, __file__)

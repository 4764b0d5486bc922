"""What tests search texts for, to find a diagnosis that a visit is to find out."""

from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.withhold import ways_known
from polyclinic.language.folding import Folded


def truth_terms(case):
    """Returns the terms of the diagnoses that neither the presentation nor the history tells as something known."""
    presentation, sections = case.presentation, case.record.history.sections()

    def is_told(term):
        at_door = any(Folded(text).find(term) >= 0 for text in (presentation.complaint, presentation.about))
        return at_door or any(how for name, text in sections for how in ways_known(term, text, section=name))

    return tuple(term for term in diagnosis_terms(case.truth.diagnoses) if not is_told(term))

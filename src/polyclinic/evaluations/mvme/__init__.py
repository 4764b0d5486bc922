"""MVME, AI Hospital's benchmark: interns and teams graded by a medical director."""

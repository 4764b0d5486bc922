"""Published evaluations, run: cases in, scores with their uncertainty out."""

"""Which of several diagnoses hold, from whole records: Tree-of-Reasoning's evaluation, for any method."""

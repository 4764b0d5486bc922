"""Methods on the questions of exams."""

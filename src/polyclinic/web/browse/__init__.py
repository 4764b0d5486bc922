"""Looking through results: every run, evaluation, learning curve and recording, down to what was said in a sentence."""

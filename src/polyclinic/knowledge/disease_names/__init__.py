"""What one name of a disease is to another: the same, narrower, broader or different, in English and Chinese."""

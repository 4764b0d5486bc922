"""How doctors work: one published method a file."""

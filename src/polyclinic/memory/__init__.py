"""What a doctor remembers: records of what went right, and experience of what went wrong."""

"""Who is ill: presentation, record, truth, and the files they come from."""

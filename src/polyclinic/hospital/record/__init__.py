"""What is kept of a run: the log, the store, and what is read off them."""

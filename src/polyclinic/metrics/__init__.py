"""How good it was."""

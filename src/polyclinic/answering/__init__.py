"""What a method that answers questions gets to work with, and what came of it."""

"""Who says how good it was: models and rules as judges, and what people say on sheets."""

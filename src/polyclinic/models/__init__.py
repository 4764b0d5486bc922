"""Who answers: the doors to language models."""

"""Minds that are language models, whatever door the model stands behind."""

"""The doctor's chair."""

"""Exam questions: their layouts, how they are shown, and the reader of answers."""

"""How reliable patient and examiner are."""

"""The roles of a visit: what each may know, do and ask."""

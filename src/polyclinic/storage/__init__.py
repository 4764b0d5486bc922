"""Databases that several machines share, beside the SQLite files that everything is kept in otherwise."""

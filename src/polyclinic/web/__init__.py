"""The web pages: a server of files, JSON and server-sent events, and the pages that it serves."""

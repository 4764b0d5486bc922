"""Orders as they are said: read into procedure, region, material, and what is looked at, and compared by meaning."""

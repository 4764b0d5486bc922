"""What is printed: results on stdout, everything else on stderr; tables; texts of others as plain text."""

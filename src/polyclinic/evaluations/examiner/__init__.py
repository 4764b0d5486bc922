"""How an examiner reads what was really ordered."""

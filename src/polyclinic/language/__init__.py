"""Words, in English and Chinese: clauses, negation, folding, stems."""

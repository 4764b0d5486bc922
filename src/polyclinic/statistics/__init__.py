"""How sure a number is, how far two agree, what goes together with what."""

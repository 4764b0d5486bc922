"""The layouts that case files come in, ours and those of published data sets."""

"""Where parts of a command run when one process is too few: processes of this machine, or a Ray cluster."""

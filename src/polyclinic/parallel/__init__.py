"""Work items: computed in this process, by worker processes of this machine, or on a Ray cluster."""

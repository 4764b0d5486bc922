"""The town: who lives there, who falls ill, and how that goes on."""

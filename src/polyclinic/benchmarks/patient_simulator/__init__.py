"""How well a simulated patient does on questions that people have labelled."""

"""AIE: doctors question a patient in turns, then choose a diagnosis."""

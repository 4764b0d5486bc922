"""polyclinic: language models practise medicine on simulated patients.

For research and teaching only; never for the care of real people.
"""

__version__ = "0.1.0"

"""The roles of a visit and the minds that play them."""

"""The hospital as its file describes it: areas, ways, staff, hours."""

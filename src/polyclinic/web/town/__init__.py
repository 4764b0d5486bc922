"""The town on its map: runs of the hospital, live or again."""

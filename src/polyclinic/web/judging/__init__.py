"""The annotator's desk: studies in which people judge what was recorded, by link, and what they say."""

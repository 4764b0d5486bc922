"""What people say: sheets that they fill in, how they are read, how far they agree, and what they come to."""

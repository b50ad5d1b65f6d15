"""Tables of a run, read from its storage."""

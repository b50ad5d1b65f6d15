"""How the tiny model is made: synthetic games, conversations about them, training from scratch, and the report."""

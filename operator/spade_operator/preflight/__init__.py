"""What a run needs of its cluster (`plan`), what there is (`surroundings`), and what is wrong with that (`checks`).

All of it is pure. The operator looks with its own rights before it accepts a run, `spade check` with the user's.
"""

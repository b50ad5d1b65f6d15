"""One pass: observe (facts → one frozen picture), decide (pure), act, and at most one status write.

Each policy of a run's life is one file with one function `(Observed, now) → Step`; decide.py holds their order.
"""

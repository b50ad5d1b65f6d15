"""Rewards, batches and losses of anybody's numbers: JSON in, JSON out (docs/scoring.md). No model and no torch."""

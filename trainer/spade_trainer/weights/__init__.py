"""Handing a policy to the engines, and proving that they compute with it (design §7)."""

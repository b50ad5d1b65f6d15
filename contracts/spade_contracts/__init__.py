"""Everything that two processes of SPADE must agree on, as pydantic models. Imports nothing of ours."""

__version__ = "0.1.0"

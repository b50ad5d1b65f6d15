"""The `spade` command."""

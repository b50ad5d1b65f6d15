"""Returns, the designer's reward and credit: method.md §5 as pure functions."""

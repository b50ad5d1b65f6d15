"""Environment programs inside a cell: one domain, one file."""

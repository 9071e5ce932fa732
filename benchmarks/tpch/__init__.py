"""TPC-H: its data, and its 22 queries as expressions and as SQL."""

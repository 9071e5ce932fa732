"""One runtime for data-intensive Python, from a laptop to a cluster."""

"""Scripts over blocks: what works row by row becomes calls on the rows that a worker holds."""

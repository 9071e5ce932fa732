"""The typed expression graph: operations in blocks; the builder makes it, passes change it."""

"""From text to a typed graph: syntax, types, built-in functions, and the graph itself."""

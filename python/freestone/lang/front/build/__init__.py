"""From a syntax tree to the typed graph: statements, expressions, functions, imports."""

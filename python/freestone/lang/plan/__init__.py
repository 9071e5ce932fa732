"""The typed expression graph: operations in blocks, made by the builder, changed by passes."""

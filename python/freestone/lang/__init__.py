"""DaphneDSL and lazy arrays: one typed graph, compiled by small passes, run by the engine."""

"""Analyse a model's fields while it runs, on ranks of their own."""

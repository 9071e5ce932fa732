"""The types of a script's values, and the arithmetic of its scalars."""

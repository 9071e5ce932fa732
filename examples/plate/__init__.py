"""Heat in a plate on a grid of processes that changes."""

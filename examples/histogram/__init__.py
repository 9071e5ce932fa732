"""Count points in a grid of any number of dimensions."""

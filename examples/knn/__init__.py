"""Find the nearest neighbours of points."""

"""Applications on freestone, one folder each."""

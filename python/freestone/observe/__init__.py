"""What a person can see of a run: figures, progress, explanations, traces and reprs."""

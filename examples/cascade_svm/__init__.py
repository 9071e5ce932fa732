"""Train a support vector machine in a cascade."""

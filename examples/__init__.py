"""Applications, each in a folder and run by itself."""

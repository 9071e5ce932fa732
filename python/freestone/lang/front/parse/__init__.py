"""From a script's text to its syntax tree."""

"""What checkers of types find in programs: `make check-types` reads them, and nothing runs them."""

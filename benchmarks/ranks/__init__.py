"""Programs of two ranks that `benchmarks.events` compiles, starts and times."""

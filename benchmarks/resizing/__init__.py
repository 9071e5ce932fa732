"""Programs that `benchmarks.redistribution` runs under mpiexec."""

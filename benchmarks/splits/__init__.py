"""One system each: the four applications of `examples` at some fragmentation."""

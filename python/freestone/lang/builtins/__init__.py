"""The built-in functions: what each takes, checks and makes; how it runs is in ``kernels``."""

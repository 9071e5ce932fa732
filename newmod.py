def f(x): return x+2000
def g(x): return f(x)
class K:
    z=3

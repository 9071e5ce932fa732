"""DV3: Higgs bosons in fat jets, in the manner of the paper's larger analysis."""

"""The main job: from muon pairs in CMS files to the mass of the Z, small and large.

`main` runs it and `freestone demo` is its command line. Every step is a plain function that
also works with no cluster: see `freestone.demo.physics` and `freestone.demo.fit`.
"""

from freestone.demo.report import render
from freestone.demo.result import DemoResult, Run, Sample
from freestone.demo.run import main

__all__ = ["DemoResult", "Run", "Sample", "main", "render"]

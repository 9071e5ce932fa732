"""A processor of coffea's, and its histogram."""

import hist
import numpy as np
import uproot
from coffea import processor
from coffea.nanoevents import BaseSchema

import freestone as fs
from freestone.compat.coffea import FreestoneExecutor


class Masses(processor.ProcessorABC):
    def process(self, events):
        return hist.Hist.new.Reg(10, 0, 100).Int64().fill(np.asarray(events.mass))

    def postprocess(self, accumulator):
        pass


if __name__ == "__main__":
    with uproot.recreate("events.root") as file:
        file["Events"] = {"mass": np.arange(1000) % 91}
    with fs.Cluster(executors=2):
        run = processor.Runner(
            executor=FreestoneExecutor(), schema=BaseSchema, chunksize=250, savemetrics=False
        )
        assert run({"data": ["events.root"]}, Masses(), treename="Events").sum() == 1000

"""All ways to run a pipeline."""

from hypothesis import strategies as st

from freestone.lang.settings import LAYOUTS, NUMA, SCHEMES, VICTIMS, Settings

schedules = st.builds(
    Settings,
    vec=st.just(True),
    partitioning=st.sampled_from(SCHEMES),
    queue_layout=st.sampled_from(LAYOUTS),
    victim_selection=st.sampled_from(VICTIMS),
    num_threads=st.integers(1, 4),
    grain_size=st.integers(1, 5),
    batch_bytes=st.sampled_from([0, 64, 1024]),
    pre_partition=st.booleans(),
    pin_workers=st.booleans(),
    hyperthreading=st.booleans(),
    numa=st.sampled_from(NUMA),
)

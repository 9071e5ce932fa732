"""What people write who know other libraries, and what to write here."""

from __future__ import annotations

from collections.abc import Mapping

from freestone.errors.base import did_you_mean

__all__ = [
    "OF_ACTOR",
    "OF_AS_COMPLETED",
    "OF_CALL",
    "OF_CLUSTER",
    "OF_EXECUTOR",
    "OF_FUTURE",
    "OF_MODULE",
    "OF_READING",
    "OF_SETTINGS",
    "OF_SHARED",
    "OF_TASK",
    "OF_TIMES",
    "OF_WAITING",
    "missing_attribute",
]

_TASK = "decorate the function with @fs.task: its calls give futures"
_ACTOR = "write cluster.actor(Class, ...): its methods give futures"
_STATE = "use cluster.variable(name) or cluster.queue(name)"
_METHOD = "it is a method of a cluster: with fs.Cluster() as cluster: cluster.{}(...)"
_CURRENT = "in a task, and with a cluster open, fs.current() is the cluster"
_JOBLIB = "open a cluster and give joblib backend='freestone'"
_SECONDS = "write timeout_s={value}, in seconds"
_COMPUTE = (
    "an fs.Array, fs.Frame or fs.Bag has .compute(); one of Dask's takes it as scheduler: "
    "x.compute(scheduler=cluster)"
)
_WORKERS = "ask cluster.statistics().workers"
_RESIZE = "write cluster.resize(workers)"
_BATCHES = "leave it out: calls travel in batches by themselves"
_ONE_OUTPUT = (
    "a call has one result; take parts of a tuple where they are needed: "
    "cluster.submit(operator.itemgetter(0), future)"
)

OF_MODULE: Mapping[str, str] = {
    "Client": "open a cluster with fs.Cluster(), or on Dask's workers with "
    "fs.Cluster.on_dask(client)",
    "LocalCluster": "open a cluster of this machine with fs.Cluster()",
    "init": "open a cluster of this machine with fs.Cluster()",
    "shutdown": "write cluster.close(), or with fs.Cluster() as cluster: ...",
    "delayed": _TASK,
    "remote": _TASK,
    "get": "wait for a value with future.result(), for several with cluster.gather(futures)",
    "compute": _COMPUTE,
    "get_client": _CURRENT,
    "default_client": _CURRENT,
    "worker_client": _CURRENT,
    "secede": "leave it out: while a task waits for others, its cores are free for them",
    "rejoin": "leave it out: while a task waits for others, its cores are free for them",
    "fire_and_forget": "a call runs to its end though nobody holds its future; "
    "future.detach() has it and its result outlive the program",
    "Lock": "write cluster.lock(name)",
    "Semaphore": "write cluster.semaphore(name, n)",
    "Queue": "write cluster.queue(name)",
    "Variable": "write cluster.variable(name)",
    "Event": _STATE,
    "Pub": _STATE,
    "Sub": _STATE,
    "Actor": _ACTOR,
    "progress": "write fs.Cluster(progress=True)",
    "kill": "write future.cancel()",
    "Executor": "write cluster.executor()",
    "ProcessPoolExecutor": "write cluster.executor()",
    "ThreadPoolExecutor": "write cluster.executor()",
    "Pool": "open a cluster with fs.Cluster() and use cluster.map(f, xs)",
    "Parallel": _JOBLIB,
    "parallel_backend": _JOBLIB,
    "parallel_config": _JOBLIB,
    "read_csv": "write fs.read(path)",
    "read_parquet": "write fs.read(path)",
    "from_numpy": "write fs.Array.from_numpy(x, block_rows)",
} | {
    name: _METHOD.format(name)
    for name in (
        "cancel",
        "command",
        "gather",
        "map",
        "persist",
        "put",
        "scatter",
        "statistics",
        "submit",
    )
}

OF_CLUSTER: Mapping[str, str] = {
    "compute": f"{_COMPUTE}; for futures, cluster.gather(futures)",
    "scale": _RESIZE,
    "start_worker": _RESIZE,
    "adapt": f"{_RESIZE}, or have 'freestone factory' start workers while there is work",
    "shutdown": "write cluster.close()",
    "terminate": "write cluster.close()",
    "join": "write cluster.wait(futures)",
    "upload_file": "write cluster.upload(path)",
    "retry": "submit the call again, or give it retries=2",
    "scheduler_info": "ask cluster.statistics()",
    "nthreads": _WORKERS,
    "ncores": _WORKERS,
    "nodes": _WORKERS,
    "workers": _WORKERS,
    "cluster_resources": _WORKERS,
    "available_resources": _WORKERS,
    "has_what": "ask cluster.who_has(futures)",
    "publish_dataset": "write cluster.publish(name, future)",
    "get_dataset": "write cluster[name]",
    "list_datasets": "write cluster.published()",
    "unpublish_dataset": "write cluster.unpublish(name)",
    "register_plugin": "do it on every worker with cluster.run(function), or give preload=",
    "get_executor": "write cluster.executor()",
    "replicate": "give the calls replicas=2",
    "rebalance": "leave it out: blocks of collections are balanced while calls run",
    "status": "ask cluster.closed or cluster.statistics()",
    "get_worker_logs": "write cluster.logs()",
    "get_task_stream": "open the cluster with trace='run.json'",
    "remote": _TASK,
    "delayed": _TASK,
    "starmap": "write cluster.map(f, *zip(*rows))",
    "imap": "write cluster.as_completed(cluster.map(f, xs))",
    "map_async": "write cluster.map(f, xs)",
    "apply": "write cluster.submit(f, x).result()",
    "apply_async": "write cluster.submit(f, x)",
}

OF_FUTURE: Mapping[str, str] = {
    "key": "write future.name",
    "traceback": "it is in future.exception().__notes__",
    "retry": "submit the call again, or give it retries=2",
    "release": "write del future",
    "running": "ask cluster.explain(future)",
    "get": "write future.result(timeout_s=...)",
    "ready": "write future.done()",
    "wait": "write fs.wait(future, timeout_s=...)",
    "successful": "ask whether future.status == 'done'",
    "_condition": "concurrent.futures waits for its own futures only; use fs.wait and "
    "fs.as_completed, or futures of cluster.executor()",
    "set_result": "a call gives it its value; to put one, cluster.put(value)",
}

OF_TASK: Mapping[str, str] = {
    "remote": "call it: f(x) gives a future",
    "delayed": "call it: f(x) gives a future",
    "submit": "call it: f(x) gives a future",
    "starmap": "write f.map(*zip(*rows))",
    "bind": "give it to another call as an argument",
}

OF_TIMES: Mapping[str, str] = {"timeout": _SECONDS}

OF_WAITING: Mapping[str, str] = {
    **OF_TIMES,
    "with_results": "ask each future: for future in ...: future.result()",
    "raise_errors": "future.result() raises, future.exception() does not",
    "num_returns": "write return_when='FIRST_COMPLETED'",
    "direct": "leave it out: values come from where they are",
    "asynchronous": "await the futures",
    "force": "leave it out: cancel() ends calls that run, too",
    "broadcast": "leave it out: each worker gets a block once, when a call there needs it",
    "hash": "leave it out: blocks are named by their content",
    "workers": "leave it out: a block goes to where calls need it",
    "n_workers": "write workers={value}",
}

OF_AS_COMPLETED: Mapping[str, str] = {
    "add": "take what is done first: done, pending = fs.wait(pending, "
    "return_when='FIRST_COMPLETED'), and add to pending",
} | dict.fromkeys(
    ("update", "next_batch", "batches", "count", "has_ready", "is_empty"),
    "write done, pending = fs.wait(pending, return_when='FIRST_COMPLETED')",
)

OF_CALL: Mapping[str, str] = {
    "workers": "write worker=, and the number of one",
    "allow_other_workers": "leave worker= out, and any may run it",
    "key": "write name=, for people; equal calls are found by what they call with what",
    "timeout": "write timeout_s=, in seconds",
    "fifo_timeout": "leave it out: what is submitted first runs first",
    "batch_size": _BATCHES,
    "chunksize": _BATCHES,
    "actor": _ACTOR,
    "num_cpus": "write resources={'cores': 2}",
    "num_gpus": "write resources={'gpus': 1}",
    "max_retries": "write retries=",
    "num_returns": _ONE_OUTPUT,
    "nout": _ONE_OUTPUT,
    "runtime_env": "write env= for variables, environment= for an archive",
}

OF_ACTOR: Mapping[str, str] = {
    "max_restarts": "write restarts=",
    "max_task_retries": "write restarts=, and checkpoint= to save its state",
    "num_cpus": OF_CALL["num_cpus"],
    "num_gpus": OF_CALL["num_gpus"],
    "max_concurrency": "leave it out: an actor does one call at a time",
    "lifetime": "give it a name=: it then outlives the program",
}

OF_EXECUTOR: Mapping[str, str] = {
    **OF_CALL,
    "max_workers": "leave it out: as many calls run as the cluster has executors, "
    "fs.Cluster(executors=n)",
}

OF_SHARED: Mapping[str, str] = {
    "acquire": "write with lock: ..., and cluster.lock(name, timeout_s=...) for how long to wait",
    "release": "it is released at the end of with lock: ...",
    "locked": "enter it with a timeout: with cluster.lock(name, timeout_s=0): ...",
    "empty": "write queue.qsize() == 0",
    "full": "write queue.qsize() == queue.maxsize",
    "get_nowait": "write queue.get(timeout_s=0)",
    "put_nowait": "write queue.put(value, timeout_s=0)",
    **dict.fromkeys(("get_batch", "get_many"), "take items with for item in queue: ..."),
    "join": "keep the futures of the calls that take items, and cluster.wait(futures)",
    "value": "write variable.get()",
}
"""What to write for methods of locks, queues and variables of other libraries."""

OF_SETTINGS: Mapping[str, str] = {
    "n_workers": "write workers=, and executors= for processes of each that run calls",
    "threads_per_worker": "write executors=: each runs one call at a time",
    "processes": "leave it out: calls always run in processes",
    "memory_limit": "write memory=",
    "max_workers": "write executors=: each runs one call at a time",
    "n_jobs": "write executors=: each runs one call at a time",
    "cores": "write executors=: each runs one call at a time",
    "num_cpus": "write executors=: each runs one call at a time",
    "num_gpus": "write gpus=",
    "dashboard_address": "write dashboard=True; cluster.dashboard_link is its address",
    "local_directory": "write folder=",
    "address": "use a cluster that runs with fs.connect(name)",
}


_TYPES = "write types={'column': 'float64'}"
_MISSING = "write missing=['NA']"
_PARTS = "write block_rows="
_HEAD = "leave it out: files are read block by block, so that x[:n] reads no more than it has to"
OF_READING: Mapping[str, str] = {
    **dict.fromkeys(("sep", "delim_whitespace"), "write separator=, r'\\s+' for blanks"),
    **dict.fromkeys(("schema", "schema_overrides", "dtypes", "converters"), _TYPES),
    **dict.fromkeys(("na_values", "null_values", "keep_default_na", "na_filter"), _MISSING),
    **dict.fromkeys(("usecols", "fields"), "write columns=['name']"),
    **dict.fromkeys(("names", "new_columns"), "rename them: frame.rename({'col_0': 'name'})"),
    **dict.fromkeys(("nrows", "n_rows"), _HEAD),
    **dict.fromkeys(("skiprows", "skip_rows", "skip_lines"), "write skip=, a number of lines"),
    **dict.fromkeys(("parse_dates", "date_format", "try_parse_dates"), "write dates="),
    **dict.fromkeys(("filters", "filter", "predicate"), "write where=[('column', '>', 0)]"),
    "has_header": "write header=",
    "comment_prefix": "write comment=",
    "decimal_comma": "write decimal=','",
    "thousands_separator": "write thousands=",
    **dict.fromkeys(("chunksize", "blocksize", "chunks", "batch_size"), _PARTS),
    **dict.fromkeys(("engine", "low_memory", "n_threads", "memory_map"), "leave it out"),
    "index_col": "leave it out: a frame has columns alone",
    "infer_schema_length": "leave it out: types are those of all rows",
    **dict.fromkeys(("quotechar", "quote_char"), "leave it out: quotes are those of CSV, '\"'"),
}
"""What to write for options of reading; what a format does not have is not advised for it."""

OF_ARRAY: Mapping[str, str] = {
    **dict.fromkeys(("chunks", "chunksize", "numblocks"), "write x.offsets, or len(x.blocks)"),
    **dict.fromkeys(("to_numpy", "values"), "write x.compute()"),
    "fill": "blocks can't be written into; write np.full_like(x, 0)",
    **dict.fromkeys(("flat", "reshape_blockwise"), "write x.ravel()"),
    **dict.fromkeys(("dump", "tofile"), 'write fs.write(x, "x.npy")'),
    "sort": "blocks can't be written into; write np.sort(x, axis=0)",
    **{name: f"write x.compute().{name}()" for name in ("byteswap", "tobytes", "view")},
}
"""What to write for attributes of NumPy's and Dask's arrays."""
OF_BAG: Mapping[str, str] = {
    **dict.fromkeys(("count", "size"), "write len(x)"),
    **dict.fromkeys(("flatten", "starmap"), "write x.map_blocks(f), which takes and returns lists"),
    "foldby": "write x.group_by(key)",
    "frequencies": "write x.group_by(lambda item: item)",
    **dict.fromkeys(("groupby", "remove"), "write x.group_by(key), or x.filter(f)"),
    "map_partitions": "write x.map_blocks(f)",
    "npartitions": "write len(x.blocks)",
    "repartition": "write x.rechunk(1000)",
    **dict.fromkeys(("max", "mean", "min", "std", "sum", "var"), "write x.fold(f)"),
    "to_dataframe": "write x.to_frame()",
}
"""What to write for methods of Dask's bags."""


def missing_attribute(
    who: str, name: str, owner: object, habits: Mapping[str, str], otherwise: str = ""
) -> AttributeError:
    """Make the error for an attribute that there is not.

    Parameters
    ----------
    who
        What has not got it, with its article.
    name
        The attribute.
    owner
        The object.
    habits
        What to write instead of those of other libraries.
    otherwise
        What to add if the name is like none.
    """
    known = [each for each in dir(type(owner)) if not each.startswith("_")]
    hint = f"; {habits[name]}" if name in habits else did_you_mean(name, known) or otherwise
    return AttributeError(f"{who} has no attribute {name!r}{hint}", name=name, obj=owner)

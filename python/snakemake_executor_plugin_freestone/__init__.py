"""Freestone as an executor of Snakemake: ``snakemake --executor freestone --jobs 100``.

Snakemake finds packages of this name by itself and imports them each time it starts, so that
freestone, which takes longer, is imported once there is a job.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import (
    CommonSettings,
    ExecutorSettingsBase,
    SharedFSUsage,
)

if TYPE_CHECKING:
    from freestone import Cluster, Future

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

common_settings = CommonSettings(
    non_local_exec=True,
    implies_no_shared_fs=False,
    job_deploy_sources=True,
    pass_default_storage_provider_args=True,
    pass_default_resources_args=True,
    # They travel with the call, where no list of processes shows them.
    pass_envvar_declarations_to_cmd=False,
    auto_deploy_default_storage_provider=False,
)

_LOGS = ".snakemake/freestone_logs"
_MEGABYTE = 1_000_000
_RESOURCES = {
    "mem_mb": ("memory", _MEGABYTE),
    "disk_mb": ("disk", _MEGABYTE),
    "gpu": ("gpus", 1),
    "gpus": ("gpus", 1),
}
"""What Snakemake's standard resources are to freestone, and their units."""
_OWN_MEMORY = 256 * _MEGABYTE
"""What Snakemake itself takes in a job, of which a rule's ``mem_mb`` does not speak."""
_OF_PROCESS = ("FREESTONE_", "SLURM_", "TMPDIR")
"""How variables begin that are about this process, and not about where software is."""
_MAX_PRIORITY = 2**31 - 1
_POLL_INTERVAL_S = 0.05


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]
    """What ``--freestone-...`` sets.

    Attributes
    ----------
    cluster : str, optional
        The cluster to use.
    resources : str, optional
        Names of rules' resources that calls take from the workers.
    """

    cluster: Optional[str] = field(  # noqa: UP045  Snakemake knows no other way to write it
        default=None,
        metadata={
            "help": "The cluster to use: the name by which 'freestone serve' shares it, the path "
            "of its access file, or its address. By default one is opened on this machine, with "
            "the settings of freestone's environment variables and files.",
            "env_var": False,
            "metavar": "NAME|FILE",
        },
    )
    resources: Optional[str] = field(  # noqa: UP045
        default=None,
        metadata={
            "help": "Resources of rules that jobs take from the workers, which must have them, "
            "such as 'licence,tape', besides those of freestone's setting 'resources'. Others are "
            "Snakemake's alone.",
            "env_var": False,
            "metavar": "NAME,NAME",
        },
    )


class Executor(RemoteExecutor):  # type: ignore[misc]
    """Runs each job, or group of jobs, as a call of a cluster.

    Parameters
    ----------
    workflow, logger
        Snakemake's.

    Raises
    ------
    WorkflowError
        Of Snakemake: when the cluster can't be used.

    Notes
    -----
    Futures report how jobs ended, so nothing is asked for in intervals. Jobs that fail are run
    again by Snakemake alone, as ``retries`` of their rules say; those that a lost worker was
    running, by freestone.
    """

    def __init__(self, workflow: Any, logger: Any) -> None:
        settings = workflow.executor_settings or ExecutorSettings()
        # First of all: the threads that the base class starts are not ended if this fails.
        self._cluster = _opened(workflow, settings.cluster)
        self._counted = _names(settings.resources) | _names_of_setting(self._cluster)
        self._futures: set[Future[Any]] = set()
        super().__init__(workflow, logger)
        self._variables = self._variables_of_jobs()
        logger.info(f"Jobs run on {self._cluster!r}.")

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submit a job as a call.

        Raises
        ------
        WorkflowError
            When the cluster has ended.
        """
        from snakemake_executor_plugin_freestone.jobs import run_job

        log = os.path.abspath(job.logfile_suggestion(_LOGS))
        is_shared = self._shares(SharedFSUsage.INPUT_OUTPUT)
        try:
            future = self._cluster.submit(
                run_job,
                self.format_job_exec(job),
                str(self.workflow.workdir_init) if is_shared else None,
                self._variables,
                log if is_shared else None,
                name=job.name,
                priority=min(getattr(job, "priority", 0), _MAX_PRIORITY),
                resources=_amounts(job, self._counted),
                timeout_s=_timeout_s(job),
                isolation="fork",
                pure=False,
                retries=0,
            )
        except Exception as error:
            raise WorkflowError(f"freestone can't run job {job.name}: {error}") from error
        self._futures.add(future)
        info = SubmittedJobInfo(job=job, aux={"log": log})
        self.report_job_submission(info)
        future.add_done_callback(lambda future: self._on_end(info, future))

    def get_job_args(self, job: JobExecutorInterface) -> str:
        """Return a job's part of its command line; of cores it has those of its call."""
        arguments: str = super().get_job_args(job)
        return f"{arguments} --cores {_cores(job)}"

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """End all jobs, also those that run."""
        self._cluster.cancel(list(self._futures))

    def shutdown(self) -> None:
        """Close the cluster, or the connection to it."""
        super().shutdown()
        self._cluster.close()

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncIterator[SubmittedJobInfo]:
        """Give nothing to look at again: futures report how jobs ended."""
        for info in active_jobs[:0]:
            yield info

    async def sleep(self) -> None:
        """Wait for the end of the workflow."""
        while self.wait:
            await asyncio.sleep(_POLL_INTERVAL_S)

    def _on_end(self, info: SubmittedJobInfo, future: "Future[Any]") -> None:
        self._futures.discard(future)
        try:
            self._report(info, future)
        except Exception as error:
            # Or Snakemake would wait for the job for ever.
            self.workflow.scheduler.executor_error_callback(error)

    def _report(self, info: SubmittedJobInfo, future: "Future[Any]") -> None:
        if future.cancelled():
            return
        log = Path(info.aux["log"])
        try:
            status, printed = future.result()
        except Exception as error:
            self._report_failure(info, log, f"{type(error).__name__}: {error}. ")
            return
        if printed:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(printed)
        if status == 0:
            self.report_job_success(info)
        else:
            self._report_failure(info, log, f"The job ended with status {status}. ")

    def _report_failure(self, info: SubmittedJobInfo, log: Path, message: str) -> None:
        logs = [str(log)] if log.exists() else []
        self.report_job_error(info, msg=message, aux_logs=logs)

    def _shares(self, usage: SharedFSUsage) -> bool:
        return usage in self.workflow.storage_settings.shared_fs_usage

    def _variables_of_jobs(self) -> dict[str, str]:
        """Return the variables that jobs have besides those of their worker.

        Where software is shared, a job finds the programs that this process finds.
        """
        variables = {}
        if self._shares(SharedFSUsage.SOFTWARE_DEPLOYMENT):
            variables = {
                key: value for key, value in os.environ.items() if not key.startswith(_OF_PROCESS)
            }
        return {**variables, **self.envvars()}


def _opened(workflow: Any, name: str | None) -> "Cluster":
    import freestone as fs

    if workflow.remote_execution_settings.immediate_submit:
        raise WorkflowError(
            "freestone gets a job once its inputs are there, so --immediate-submit can't be used"
        )
    try:
        return fs.Cluster() if name is None else fs.connect(name)
    except fs.errors.FreestoneError as error:
        raise WorkflowError(f"freestone: {error}") from error


def _names(text: str | None) -> set[str]:
    names = {name.strip() for name in (text or "").split(",") if name.strip()}
    for name in sorted(names & _RESOURCES.keys()):
        raise WorkflowError(
            f"--freestone-resources names {name}, which jobs take anyway, as freestone's "
            f"{_RESOURCES[name][0]}; leave it out"
        )
    return names


def _names_of_setting(cluster: "Cluster") -> set[str]:
    from freestone.units import parse_resources

    return set(parse_resources(cluster.config.resources))


def _cores(job: JobExecutorInterface) -> int:
    return max(1, int(job.threads))


def _amounts(job: JobExecutorInterface, counted: Iterable[str]) -> dict[str, int]:
    """Return what a job takes of its worker."""
    amounts = {"cores": _cores(job)}
    for name, (ours, unit) in _RESOURCES.items():
        if amount := _whole(job, name):
            amounts[ours] = amount * unit
    if "memory" in amounts:
        amounts["memory"] += _OWN_MEMORY
    return amounts | {name: amount for name in counted if (amount := _whole(job, name))}


def _whole(job: JobExecutorInterface, name: str) -> int:
    """Return a resource of a job; 0 if it has none, or it is a text."""
    amount = job.resources.get(name)
    return amount if isinstance(amount, int) else 0


def _timeout_s(job: JobExecutorInterface) -> float | None:
    """Return for how long a job may run: ``runtime`` is in minutes."""
    minutes = _whole(job, "runtime")
    return minutes * 60.0 if minutes else None

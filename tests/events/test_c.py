"""The C library: the examples in C, C++ and Fortran, compiled against what `make c` installs."""

import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.events.test_joined import free_address
from tests.mpi import BIN, BUILD, ROOT, mpiexec

EXAMPLES = ROOT / "examples" / "events_c"
STRICT = ["-Wall", "-Wextra", "-Werror"]
COMPILERS = {".c": ["cc", "-std=c11", *STRICT], ".cpp": ["c++", "-std=c++17", *STRICT]}


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def done(words: list[str], **options: object) -> str:
    """Run a command that has to end well; what it printed."""
    ended = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert ended.returncode == 0, f"{words}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
    return str(ended.stdout)


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs("cargo")
    needs("cc")
    folder = tmp_path_factory.mktemp("prefix")
    done(BUILD, cwd=ROOT)
    script = ROOT / "crates" / "install" / "install.sh"
    built = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    done([str(script), "events", f"{built}/release", str(folder), "1.2.3"])
    return folder


def flags(prefix: Path) -> list[str]:
    library = prefix / "lib"
    return [
        f"-I{prefix / 'include'}",
        f"-L{library}",
        f"-Wl,-rpath,{library}",
        "-lfreestone_events",
    ]


def built(prefix: Path, source: Path, folder: Path, name: str = "program") -> str:
    program = folder / name
    compiler = COMPILERS[source.suffix]
    needs(compiler[0])
    done([*compiler, "-g", str(source), *flags(prefix), "-o", str(program)])
    return str(program)


def run(program: str, ranks: int, **settings: str) -> subprocess.CompletedProcess[str]:
    settings = {f"FREESTONE_EVENTS_{key.upper()}": value for key, value in settings.items()}
    environment = {**os.environ, "FREESTONE_EVENTS_RANKS": str(ranks), **settings}
    return subprocess.run(
        [program], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("name", "ranks", "expected"),
    [
        ("add.c", 2, ["133"]),
        ("reduce.c", 4, [f"rank {rank}: 14" for rank in range(4)]),
        (
            "barrier.c",
            3,
            [f"rank {r}: all 3 are here, 3 of its own things are prepared" for r in range(3)],
        ),
        ("protect.c", 3, ["2000 values, 1001000 in all"]),
        ("wait.c", 2, ["9900, and 0 more"] * 2),
        ("add.cpp", 3, ["1198"]),
    ],
)
def test_an_example_does_what_it_says(
    prefix: Path, tmp_path: Path, name: str, ranks: int, expected: list[str]
) -> None:
    program = built(prefix, EXAMPLES / name, tmp_path)
    ended = run(program, ranks)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.splitlines()) == sorted(expected)


SHARES = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
static void add_up(const fse_event *events, int count, void *context) {
  (void)context;
  int total = 0, all = 0;
  for (int index = 0; index < count; index++) total += *(const int32_t *)events[index].data;
  MPI_Allreduce(&total, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d\n", all);
}
int main(int argc, char **argv) {
  int level = 0, finalised = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (fse_init(NULL) != FSE_OK) return 2;
  int32_t number = fse_rank() + 1;
  fse_submit(add_up, NULL, 1, FSE_ALL, "number");
  fse_fire(&number, FSE_INT, 1, FSE_ALL, "number");
  int code = fse_finalise();
  MPI_Finalized(&finalised);
  MPI_Finalize();
  return code != FSE_OK || finalised;
}
"""


def built_by(compiler: str, prefix: Path, folder: Path, text: str) -> str:
    """Compile a program of MPI and of events with one of MPI's compilers."""
    compile_by = shutil.which(compiler, path=f"{BIN}:{os.environ['PATH']}")
    if compile_by is None:
        pytest.skip(f"{compiler} is not installed")
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    rpath = f"-Wl,-rpath,{BIN.parent / 'lib'}"
    done([compile_by, str(source), *flags(prefix), rpath, "-o", str(program)])
    return str(program)


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_a_program_shares_its_own_mpi(prefix: Path, tmp_path: Path, compiler: str) -> None:
    ended = mpiexec(3, built_by(compiler, prefix, tmp_path, SHARES))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("18") == 3


def fortran(prefix: Path, folder: Path, text: str) -> list[str]:
    """Return the command that compiles a program in Fortran to `folder / "program"`."""
    needs("gfortran")
    source = folder / "main.f90"
    source.write_text(text)
    sources = [str(prefix / "include" / "freestone_events.f90"), str(source)]
    options = ["-std=f2018", "-Wall", f"-J{folder}", "-o", str(folder / "program")]
    return ["gfortran", *options, *sources, *flags(prefix)]


def test_fortran_calls_the_same(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, (EXAMPLES / "add.f90").read_text()))
    ended = run(str(tmp_path / "program"), 2)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "weights 36.5\n", "")


SERIALISED = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static void relay(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  int32_t number = *(const int32_t *)events[0].data + 1;
  if (number < 1000) fse_fire(&number, FSE_INT, 1, (fse_rank() + 1) % fse_ranks(), "number");
}
int main(int argc, char **argv) {
  int level = 0, rank = 0, sum = 0;
  int32_t zero = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  if (level != MPI_THREAD_SERIALIZED || fse_init(NULL) != FSE_OK) return 2;
  fse_submit_persistent(relay, NULL, 1, FSE_ANY, "number");
  if (fse_rank() == 0) fse_fire(&zero, FSE_INT, 1, 1, "number");
  for (int round = 0; round < 100; round++) {
    fse_hold_mpi();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request request;
    int done = 0;
    MPI_Iallreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    fse_release_mpi();
    while (!done) {
      fse_hold_mpi();
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      fse_release_mpi();
    }
    if (sum != round * fse_ranks()) return 3;
  }
  if (fse_release_mpi() != FSE_NOT_HELD) return 4;
  int code = fse_finalise();
  printf("%d\n", sum);
  MPI_Finalize();
  return code != FSE_OK;
}
"""


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_a_program_holds_mpi_around_its_own_calls(
    prefix: Path, tmp_path: Path, compiler: str
) -> None:
    ended = mpiexec(2, built_by(compiler, prefix, tmp_path, SERIALISED))
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", "198\n" * 2)


HALF = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int level = 0, rank = 0, code = FSE_OK;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  if (rank % 2) {
    code = fse_init_comm(NULL, half);
    MPI_Comm_free(&half);
    fse_fire(&rank, FSE_INT, 1, FSE_ALL, "rank");
    const fse_event *events = fse_wait(1, FSE_ALL, "rank");
    printf("%d of %d: %d %d\n", fse_rank(), fse_ranks(), *(const int *)events[0].data,
           *(const int *)events[1].data);
    fse_free(events);
    code += fse_finalise();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return code != FSE_OK;
}
"""


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_some_ranks_begin_on_a_communicator(prefix: Path, tmp_path: Path, compiler: str) -> None:
    ended = mpiexec(4, built_by(compiler, prefix, tmp_path, HALF))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.splitlines()) == ["0 of 2: 3 1", "1 of 2: 3 1"]


def test_pkg_config_knows_the_library(prefix: Path, tmp_path: Path) -> None:
    needs("pkg-config")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    words = ["pkg-config", "--cflags", "--libs", "freestone_events"]
    found = done(words, env=environment).split()
    program = tmp_path / "add"
    done(["cc", str(EXAMPLES / "add.c"), *found, "-o", str(program)])
    assert run(str(program), 2).stdout == "133\n"
    assert done(["pkg-config", "--modversion", "freestone_events"], env=environment) == "1.2.3\n"


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(freestone_events REQUIRED)
add_executable(shared {source})
target_link_libraries(shared freestone::events)
add_executable(static {source})
target_link_libraries(static freestone::events_static)
"""


def test_cmake_finds_the_library(prefix: Path, tmp_path: Path) -> None:
    needs("cmake")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(source=EXAMPLES / "add.c"))
    build = tmp_path / "build"
    done(["cmake", "-S", str(tmp_path), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}"])
    done(["cmake", "--build", str(build)])
    assert run(str(build / "shared"), 2).stdout == "133\n"
    assert run(str(build / "static"), 2).stdout == "133\n"


TOO_LATE = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int code = fse_init(NULL);
  int said = strstr(fse_error(), "MPI_THREAD_FUNNELED") != NULL;
  MPI_Finalize();
  return code == FSE_NO_START && said ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_mpi_without_the_thread_level_is_refused(
    prefix: Path, tmp_path: Path, compiler: str
) -> None:
    ended = mpiexec(2, built_by(compiler, prefix, tmp_path, TOO_LATE))
    assert ended.returncode == 0, ended.stdout + ended.stderr


MISTAKES = r"""
#include <freestone_events.h>
#include <stdio.h>
#include <string.h>

static int failures;
static void expect(int got, int wanted, const char *word) {
  if (got != wanted || strstr(fse_error(), word) == NULL) {
    printf("%d, not %d: %s\n", got, wanted, fse_error());
    failures++;
  }
}
static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
static void from_inside(const fse_event *events, int count, void *context) {
  nothing(events, count, context);
  expect(fse_finalise(), FSE_IN_TASK, "inside of a task");
  expect(fse_drain(), FSE_IN_TASK, "inside of a task");
}
int main(void) {
  expect(fse_fire(NULL, FSE_NONE, 0, 0, "e"), FSE_OVER, "no run has begun");
  fse_config wrong = {.ranks = -3};
  expect(fse_init(&wrong), FSE_BAD_CALL, "at least 1");
  fse_init(NULL);
  expect(fse_init(NULL), FSE_BAD_CALL, "called before");
  expect(fse_fire(NULL, FSE_NONE, 0, 7, "e"), FSE_BAD_CALL, "no rank 7");
  expect(fse_fire(NULL, 77, 0, 0, "e"), FSE_BAD_CALL, "77 is no type");
  expect(fse_fire(NULL, FSE_INT, 3, 0, "e"), FSE_BAD_CALL, "null pointer");
  expect(fse_fire("", FSE_DOUBLE, (size_t)-1, 0, "e"), FSE_TOO_LARGE, "8 bytes are more than");
  expect(fse_fire_addresses(NULL, (size_t)-1, "e", 0), FSE_TOO_LARGE, "addresses are more than");
  size_t extents[] = {(size_t)-1, 9};
  expect(fse_fire_array("", FSE_INT, 2, extents, 0, "e", 0), FSE_TOO_LARGE, "too many elements");
  expect(fse_fire("abc", FSE_NONE, 3, 0, "e"), FSE_BAD_CALL, "there are 3 elements");
  expect(fse_fire("ab\xff", FSE_TEXT, 3, 0, "e"), FSE_BAD_CALL, "not UTF-8 from its byte 2");
  expect(fse_every(0, "e"), FSE_BAD_CALL, "too often");
  expect(fse_fire(NULL, FSE_NONE, 0, 0, NULL), FSE_BAD_CALL, "identifier");
  expect(fse_submit(NULL, NULL, 0), FSE_BAD_CALL, "task is a null pointer");
  expect(fse_submit(nothing, NULL, 1, 5, "e"), FSE_BAD_CALL, "no rank 5");
  expect(fse_submit(nothing, NULL, 65, 5, "e"), FSE_BAD_CALL, "64");
  expect(fse_submit(nothing, NULL, -1), FSE_BAD_CALL, "fewer than 0");
  expect(fse_unlock("never"), FSE_NOT_HELD, "never");
  expect(fse_after(-1, "e"), FSE_BAD_CALL, "-1 s");
  fse_dependency on = {FSE_ANY, "never"};
  int found = 9;
  if (fse_wait_on(&on, 1, 0.001, &found) == NULL) {
    expect(FSE_TIMEOUT, FSE_TIMEOUT, "no 'never' from any rank");
  }
  if (fse_retrieve_any(&found, 1, FSE_ANY, "never") == NULL || found != 0) failures++;
  fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "there");
  const fse_event *events = fse_retrieve_any(&found, 2, FSE_ANY, "never", FSE_ANY, "there");
  if (fse_find(events, found, FSE_SELF, "there") != events || found != 1) failures++;
  if (fse_find(events, found, FSE_ANY, "other") != NULL) failures++;
  fse_free(events);
  fse_free(events);
  fse_submit(from_inside, NULL, 0);
  int code = fse_finalise();
  return code == FSE_OK ? failures : 99;
}
"""


def test_mistakes_get_clear_errors(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "mistakes.c"
    source.write_text(MISTAKES)
    ended = run(built(prefix, source, tmp_path), 1)
    assert (ended.returncode, ended.stdout) == (0, "")


DIES = r"""
#include <freestone_events.h>
#include <signal.h>
static void die(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  raise(SIGKILL);
}
int main(void) {
  fse_init(NULL);
  if (fse_rank() == 1) fse_submit(die, NULL, 0);
  return -fse_finalise();
}
"""


def test_a_rank_that_dies_ends_the_others(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "dies.c"
    source.write_text(DIES)
    ended = run(built(prefix, source, tmp_path), 3)
    assert "rank 1 is lost: its process was killed by signal 9" in ended.stderr
    assert "rank 1 is lost: it ended before the run did" in ended.stderr
    assert ended.returncode in (2, 128 + signal.SIGKILL)


COMPUTES = r"""
#include <freestone_events.h>
#include <signal.h>
#include <unistd.h>
int main(void) {
  fse_init(NULL);
  fse_fire(NULL, FSE_NONE, 0, 1, "ready");
  if (fse_rank() == 1) {
    fse_free(fse_wait(3, 0, "ready", 1, "ready", 2, "ready"));
    raise(SIGKILL);
  }
  for (;;) pause();
}
"""


def test_ranks_that_compute_end_when_one_dies(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREESTONE_EVENTS_GRACE_S", "0.1")
    source = tmp_path / "computes.c"
    source.write_text(COMPUTES)
    ended = run(built(prefix, source, tmp_path), 3)
    assert "rank 1 is lost: its process was killed by signal 9" in ended.stderr
    assert "rank 0 is killed: it computes 0.1 s after another was lost" in ended.stderr
    assert ended.returncode == 128 + signal.SIGKILL


FORGETS = r"""
#include <freestone_events.h>
static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
int main(void) {
  fse_init(NULL);
  fse_dependency on[] = {{FSE_SELF, "here"}, {FSE_ANY, "never"}};
  fse_submit_on(nothing, NULL, on, 2, 0, "forgotten");
  fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "here");
  return -fse_finalise();
}
"""


def test_a_run_that_is_stuck_says_why(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "forgets.c"
    source.write_text(FORGETS)
    ended = run(built(prefix, source, tmp_path), 2)
    assert ended.returncode == 3
    for rank in range(2):
        expected = rf"rank {rank}:\n  task 'forgotten' \(\S+:9\) lacks 'never' from any rank"
        assert re.search(expected, ended.stderr)


JOINS = r"""
#include <freestone_events.h>
#include <stdio.h>
static void greet(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  printf("rank %d has joined, there are %d\n", events[0].source, fse_ranks());
  fse_fire(NULL, FSE_NONE, 0, events[0].source, "welcome");
}
static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
int main(void) {
  if (fse_init(NULL) != FSE_OK) return 1;
  if (fse_has_joined()) {
    fse_submit(nothing, NULL, 1, 0, "welcome");
  } else {
    fse_submit(greet, NULL, 1, FSE_ANY, FSE_RANK_JOINED_EVENT);
  }
  return -fse_finalise();
}
"""


def test_a_rank_joins_a_run_that_is_on(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "joins.c"
    source.write_text(JOINS)
    program = built(prefix, source, tmp_path)
    common = {"meeting": free_address(), "identity": str(tmp_path / "run.pem")}
    with ThreadPoolExecutor() as pool:
        founder = pool.submit(run, program, 1, rank="0", most="2", **common)
        joining_rank = pool.submit(run, program, 1, rank="join", **common)
    for ended in [founder.result(), joining_rank.result()]:
        assert (ended.returncode, ended.stderr) == (0, "")
    assert founder.result().stdout == "rank 1 has joined, there are 2\n"


WAITS = r"""
#include <freestone_events.h>
#include <stdio.h>
static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
int main(void) {
  fse_init(NULL);
  fse_dependency on = {FSE_SELF, "late"};
  fse_submit_on(nothing, NULL, &on, 1, 0, "patient");
  fse_after(3600, "late");
  printf("waiting\n");
  fflush(stdout);
  return -fse_finalise();
}
"""


def interrupted(prefix: Path, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start two ranks of `WAITS`, and press Ctrl-C once both wait."""
    source = folder / "waits.c"
    source.write_text(WAITS)
    process = subprocess.Popen(
        [built(prefix, source, folder)],
        env={**os.environ, "FREESTONE_EVENTS_RANKS": "2", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["waiting\n"] * 2
    os.killpg(process.pid, signal.SIGINT)
    return process


def test_an_interrupted_run_says_what_waits(prefix: Path, tmp_path: Path) -> None:
    says_what_waits(interrupted(prefix, tmp_path))


def says_what_waits(process: subprocess.Popen[str]) -> None:
    _, output = process.communicate(timeout=60)
    for rank in range(2):
        expected = rf"rank {rank}:\n  task 'patient' \(\S+:10\) lacks 'late' from rank {rank}"
        assert re.search(expected, output)
    assert process.returncode == 128 + signal.SIGINT


EARLY = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>
sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction after = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
  if (handler == SIG_IGN) kill(getpid(), number);
  sigaction(number, &after, &before);
  return before.sa_handler;
}
"""


def test_ctrl_c_while_ranks_are_started_does_not_end_them(prefix: Path, tmp_path: Path) -> None:
    """It comes before the process that has started the ranks is ready for it."""
    source, library = tmp_path / "early.c", tmp_path / "early.so"
    source.write_text(EARLY)
    done(["cc", "-shared", "-fPIC", str(source), "-o", str(library)])
    says_what_waits(interrupted(prefix, tmp_path, LD_PRELOAD=str(library)))


@pytest.mark.parametrize("name", ["WORKERS", "SPIN_US", "ARENA", "STUCK_S", "PROGRESS"])
def test_a_setting_that_makes_no_sense_is_refused(prefix: Path, tmp_path: Path, name: str) -> None:
    program = built(prefix, EXAMPLES / "reduce.c", tmp_path)
    ended = run(program, 1, **{name: "magic"})
    assert ended.returncode == 1
    assert f"FREESTONE_EVENTS_{name}) is magic" in ended.stderr


def test_no_event_leaks(prefix: Path, tmp_path: Path) -> None:
    """The original loses 112 bytes an event."""
    source = tmp_path / "leaks.c"
    source.write_text(LEAKS)
    ended = run(built(prefix, source, tmp_path), 1)
    assert ended.returncode == 0, ended.stdout


LEAKS = r"""
#include <freestone_events.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
static long resident(void) {
  long pages = 0, all = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}
int main(void) {
  fse_init(NULL);
  fse_submit_persistent(nothing, NULL, 1, FSE_SELF, "e");
  long before = 0, least = LONG_MAX;
  for (int round = 0; round <= 40; round++) {
    /* Events pile up now and then, while the worker waits for a core: what leaks, leaks always. */
    if (round % 10 == 0) {
      long now = resident();
      if (round > 10 && now - before < least) least = now - before;
      before = now;
    }
    for (int number = 0; number < 10000; number++) {
      double value = number;
      fse_fire(&value, FSE_DOUBLE, 1, FSE_SELF, "e");
    }
    fse_drain();
  }
  printf("%ld bytes more after 100000 events\n", least);
  return fse_finalise() != FSE_OK || least > 100000 * 8;
}
"""

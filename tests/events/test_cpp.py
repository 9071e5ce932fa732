"""The header for C++17."""

import subprocess
from pathlib import Path

import pytest

from tests.events.test_c import EXAMPLES, built, done, flags, prefix, run

__all__ = ["prefix"]


def test_the_example_does_what_it_says(prefix: Path, tmp_path: Path) -> None:
    ended = run(built(prefix, EXAMPLES / "lambdas.cpp", tmp_path), 2)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "9 -1\n", "")


PROGRAM = r"""
#include <freestone_events.hpp>
#include <iostream>
#include <map>
namespace fse = freestone::events;
using Table = std::map<std::string, int>;
template <> struct fse::codec<Table> {
  static std::vector<unsigned char> encode(const Table &table) {
    std::string text;
    for (auto &[name, value] : table) text += name + "=" + std::to_string(value) + ";";
    return {text.begin(), text.end()};
  }
  static Table decode(const unsigned char *data, std::size_t nbytes) {
    std::string text(reinterpret_cast<const char *>(data), nbytes);
    Table table;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t equals = text.find('=', at), end = text.find(';', at);
      table[text.substr(at, equals - at)] = std::stoi(text.substr(equals + 1));
      at = end + 1;
    }
    return table;
  }
};
int main(int argc, char **argv) {
  fse::run run;
  std::string what = argc > 1 ? argv[1] : "";
  fse::dependencies both{{fse::self, "table"}, {fse::self, "text"}};
  auto size = fse::submit(both, [](const fse::events &events) {
    return events[0].value<Table>().at("b") + int(events[1].value<std::string>().size());
  });
  fse::fire(fse::self, "table", Table{{"a", 1}, {"b", 2}});
  fse::fire(fse::self, "text", "hello");
  std::cout << size.get() << "\n";
  auto inner = [] { return std::string("inner"); };
  auto nested = fse::submit({}, [inner] { return fse::submit({}, inner).get(); });
  std::cout << nested.get() << "\n";
  auto refused = [](auto call) {
    try {
      call();
    } catch (const fse::error &error) {
      std::cout << error.code() << " " << error.what() << "\n";
    }
  };
  refused([] { fse::fire(99, "x"); });
  refused([] { fse::fire(fse::any, "x"); });
  refused([] { fse::retrieve_any({{99, "x"}}); });
  refused([] { fse::wait({{99, "x"}}); });
  refused([] { fse::wait({{fse::self, "late"}}, 0.01); });
  std::vector<fse::future<int>> all;
  for (int i = 0; i < 1000; i++) all.push_back(fse::submit({}, [i] { return i; }));
  long sum = 0; for (auto &one : all) sum += one.get();
  std::cout << sum << std::endl;
  auto number = [](const fse::events &e) { return e[0].value<double>(); };
  if (what == "throws") fse::submit({{fse::self, "n"}}, number);
  if (what == "throws") fse::fire(fse::self, "n", 3);
  if (what == "stuck") fse::submit({{fse::any, "never"}}, number);
  try {
    run.finish();
  } catch (const fse::error &error) {
    std::cout << error.code() << "\n";
    return 3;
  }
}
"""


@pytest.fixture(scope="module")
def program(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("cpp") / "program.cpp"
    source.write_text(PROGRAM)
    return Path(built(prefix, source, source.parent))


def line_of(text: str) -> int:
    return PROGRAM[: PROGRAM.index(text)].count("\n") + 1


def test_tasks_return_futures_and_carry_types_of_the_program(program: Path) -> None:
    ended = run(str(program), 1)
    absent = "-5 there is no rank 99; the run has 1, from 0 to 0"
    source = "-5 FSE_ANY is a source of events only; fire at a rank, at FSE_SELF or at FSE_ALL"
    *lines, late, total = ended.stdout.splitlines()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert lines == ["7", "inner", absent, source, absent, absent]
    assert late.startswith("-7 ")
    assert total == "499500"


WAITERS = r"""
#include <freestone_events.hpp>
#include <iostream>
namespace fse = freestone::events;
int main() {
  fse::run run;
  auto number = fse::submit({{fse::self, "number"}}, [](const fse::events &found) {
    return found[0].value<int>();
  });
  auto text = fse::submit({{fse::self, "text"}}, [] { return std::string("text"); });
  fse::submit({}, [=] { std::cout << std::to_string(number.get()) + "\n"; });
  fse::submit({}, [=] {
    std::cout << text.get() + "\n";
    fse::fire(fse::self, "number", 42);
  });
  fse::submit({{fse::self, "begin"}}, [] { fse::fire(fse::self, "text"); });
  fse_after(0.05, "begin");
  run.finish();
}
"""


def test_futures_of_several_types_wait_each_for_its_own_result(
    prefix: Path, tmp_path: Path
) -> None:
    source = tmp_path / "waiters.cpp"
    source.write_text(WAITERS)
    ended = run(str(built(prefix, source, tmp_path)), 1)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "text\n42\n", "")


@pytest.mark.parametrize(
    ("what", "code", "text"),
    [
        (
            "throws",
            "-1",
            "threw: the event 'n' of rank 0 was read as double, and carries 1 of int32",
        ),
        ("stuck", "-3", "lacks 'never' from any rank"),
    ],
)
def test_what_ends_a_run_is_thrown_and_has_a_place(
    program: Path, tmp_path: Path, what: str, code: str, text: str
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\nexec {program} {what}\n")
    script.chmod(0o755)
    ended = run(str(script), 1)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (3, code)
    place = f"lambda ({program.with_suffix('.cpp')}:{line_of(f'if (what == {chr(34)}{what}')})"
    assert f"{place} {text}" in ended.stderr


@pytest.mark.parametrize(
    "call", ['fse::fire(0, "x", new int)', "fse::submit({}, [](int number) { return number; })"]
)
def test_the_compiler_refuses_what_cannot_travel_or_run(
    prefix: Path, tmp_path: Path, call: str
) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text(
        "#include <freestone_events.hpp>\nnamespace fse = freestone::events;\n"
        f"int main() {{ fse::run run; {call}; }}\n"
    )
    with pytest.raises(AssertionError, match=r"an event carries a pointer|a task takes its events"):
        done(["c++", "-std=c++17", str(source), *flags(prefix), "-o", str(tmp_path / "wrong")])


@pytest.mark.parametrize(
    "call",
    [
        'double x = 0; std::vector<double *> all{&x}; fse::fire(fse::self, "x", all);',
        'double x = 0; double *one[] = {&x}; fse::fire(fse::self, "x", one);',
        'double x = 0; fse::fire(fse::self, "x", &x);',
    ],
    ids=["vector", "array", "pointer"],
)
def test_pointers_are_not_fired_as_bytes(prefix: Path, tmp_path: Path, call: str) -> None:
    source = tmp_path / "pointers.cpp"
    head = "#include <freestone_events.hpp>\nnamespace fse = freestone::events;\n"
    source.write_text(f"{head}int main() {{ fse::run run; {call} }}\n")
    words = ["c++", "-std=c++17", "-fsyntax-only", str(source), f"-I{prefix / 'include'}"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert "pointer" in found.stderr


LEAVES = r"""
#include <freestone_events.hpp>
#include <cstdio>
namespace fse = freestone::events;
static void read(const char *name) {
  throw std::runtime_error(std::string("no file ") + name);
}
int main(int argc, char **) {
  if (argc > 9) try { fse::run run; read("a"); } catch (...) { return 1; }
#ifdef CATCHES
  try {
#endif
  fse::run run;
  read("fields");
#ifdef CATCHES
  } catch (const std::exception &error) {
    return std::puts(error.what()), 3;
  }
#endif
}
"""


@pytest.mark.parametrize(
    ("flag", "line", "says"),
    [
        (
            "-g",
            "throw std::runtime_error",
            "the program ({place}): nobody caught its exception: no file fields",
        ),
        (
            "-g0",
            "fse::run run;\n  read",
            "the program that began at {place}: nobody caught its exception: no file fields",
        ),
        (
            "-DCATCHES",
            "fse::run run;\n  read",
            "the program ({place}): an exception left the block of the run that begins there",
        ),
    ],
)
def test_an_exception_that_leaves_the_program_is_named_with_its_line(
    prefix: Path, tmp_path: Path, flag: str, line: str, says: str
) -> None:
    source, program = tmp_path / "leaves.cpp", str(tmp_path / "leaves")
    source.write_text(LEAVES)
    done(["c++", "-std=c++17", flag, str(source), *flags(prefix), "-o", program])
    ended = run(program, 2)
    place = f"{source}:{LEAVES[: LEAVES.index(line)].count(chr(10)) + 1}"
    assert ended.returncode != 0
    assert f"failed: {says.format(place=place)}\n" in ended.stderr

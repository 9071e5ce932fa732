"""Reports that are kept in the repository, and what the pages of performance show of them.

`python -m benchmarks.kept` draws the pictures of all again, and writes what stands below the marks
of the pages (`<!-- measured: NAME -->` to `<!-- end -->`) and the page of all claims. Each is made
from `docs/performance/measured/NAME.json` alone, which `python -m benchmarks --keep NAME` writes.
What is measured on another processor than that report lies in a folder of this processor's, and is
shown beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import common, plots

PERFORMANCE = common.ROOT / "docs" / "performance"
FOLDER = PERFORMANCE / "measured"
CLAIMS = PERFORMANCE / "claims.md"
MARKS_OF_MAKERS = re.compile(r"\((?:R|TM)\)|\b(?:CPU|Processor|[\w-]+-Core)\b.*", re.IGNORECASE)
MARKED = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
VERDICTS = {True: "yes", False: "**no**", None: "not measured"}
HEAD = """\
# Claims

What was wanted before it was measured, and what was measured. The tables are made from the reports
that benchmarks write and that the repository keeps. A report has every sample, the versions of the
peers and the state of the machine. `python -m benchmarks --keep NAME` replaces the report of one
benchmark on the processor that it runs on, its pictures and its column here.
"""


def file_of(name: str) -> Path:
    """Return the file of a benchmark's first report; those on other processors have folders."""
    return FOLDER / f"{name}.json"


def file_on(name: str, cpu: str) -> Path:
    """Return the file of a benchmark's report on a processor of this model.

    It is the first one, unless that is of another model.
    """
    first = file_of(name)
    if not first.is_file() or processor(_read(first)) == processor_named(cpu):
        return first
    return FOLDER / processor_named(cpu).lower().replace(" ", "-") / first.name


def processor_named(cpu: str) -> str:
    """Return what a model of processors is called, without its maker's marks."""
    return " ".join(MARKS_OF_MAKERS.sub("", cpu).split()) or cpu


def processor(report: dict[str, Any]) -> str:
    """Return what the processor of a report is called."""
    return processor_named(report["machine"]["cpu"])


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def reports() -> dict[str, dict[str, Any]]:
    """Return the first report that is kept of each benchmark, by its name."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.json"))}


def others(name: str) -> dict[Path, dict[str, Any]]:
    """Return the reports of a benchmark on other processors, by their files."""
    return {path: _read(path) for path in sorted(FOLDER.glob(f"*/{name}.json"))}


def pictures(name: str, report: dict[str, Any]) -> dict[Path, plots.Picture]:
    """Return the pictures of a benchmark's first report, by their files."""
    return common.pictures(report, file_of(name))


def files() -> set[Path]:
    """Return the files of all reports and pictures that are kept."""
    found = set()
    for name, report in reports().items():
        for path, content in {file_of(name): report, **others(name)}.items():
            found |= {path, *common.pictures(content, path)}
    return found


def conditions(report: dict[str, Any]) -> str:
    """Return how a report was measured, as one sentence."""
    machine = report["machine"]
    rounds = "**a quick round, shorter than a full one**" if report["quick"] else "a full run"
    load, cores = machine["load_before"], machine["cores"]
    # What comes first may be left of another round; more is other work.
    busy = ", **beside other work: times are upper limits**" if load > 2 * cores else ""
    where = f"{machine['cpu']}, {cores} cores, load {load:g} before it{busy}"
    when = f"commit {report['commit']}, {report['date'][:10]}"
    return f"`{report['command']}`: {rounds}; {where}; {when}"


def below(name: str, report: dict[str, Any] | None) -> str:
    """Return what a page shows of a benchmark's reports below its mark."""
    if report is None:
        return ""
    shown = "".join(
        f"![{picture.title}](measured/{path.name})\n"
        for path, picture in pictures(name, report).items()
    )
    lines = [_line(name, report, file_of(name), ())]
    for path, other in others(name).items():
        lines.append(_line(name, other, path, common.pictures(other, path)))
    return f"\n{shown}\n" + "\n\n".join(lines) + "\n\n"


def _line(name: str, report: dict[str, Any], path: Path, drawn: Iterable[Path]) -> str:
    """Return how a report was measured, what came of it, and where it is, with pictures' files."""
    held = [claim["holds"] for claim in report["claims"] if claim["holds"] is not None]
    claims = f" {sum(held)} of {len(held)} [claims](claims.md#{name}) hold." if held else ""
    named = {"JSON": path} | {f"picture {at}": file for at, file in enumerate(drawn, 1)}
    links = [f"[{word}](measured/{file.relative_to(FOLDER)})" for word, file in named.items()]
    return f"*{conditions(report)} ({', '.join(links)}).{claims}*"


def page(text: str) -> str:
    """Return a page's text with what it is to show below its marks."""
    kept = reports()
    return MARKED.sub(lambda found: found[1] + below(found[2], kept.get(found[2])) + found[3], text)


def claims() -> str:
    """Return the page of all claims."""
    return "\n".join([HEAD, *(_claims(name, report) for name, report in reports().items())])


def _claims(name: str, report: dict[str, Any]) -> str:
    measured = {processor(found): found for found in (report, *others(name).values())}
    several = len(measured) > 1
    columns = list(measured) if several else ["measured"]
    rows = [
        "| "
        + " | ".join([claim, *_cells(claim, measured), wanted, _verdict(claim, measured)])
        + " |"
        for claim, wanted in _wanted(measured.values()).items()
    ]
    head = f"| claim | {' | '.join(columns)} | wanted | holds |\n"
    head += f"| --- |{' --- |' * len(columns)} --- | --- |\n"
    absent = [f"{subject}: {reason}" for subject, reason in report["absent"].items()]
    without = f"\nNot measured: {'; '.join(absent)}.\n" if absent else ""
    table = head + "\n".join(rows) + "\n" if rows else "The report makes no claim.\n"
    measurements = "\n\n".join(f"{conditions(found)}." for found in measured.values())
    return f"## {name}\n\n{report['question']} {measurements}\n\n{table}{without}"


def _wanted(found: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return what is wanted of each claim of reports, by its name."""
    claims = (claim for report in found for claim in report["claims"])
    return {claim["name"]: f"{claim['wanted']} {claim['unit']}" for claim in claims}


def _named(name: str, report: dict[str, Any]) -> dict[str, Any] | None:
    return next((claim for claim in report["claims"] if claim["name"] == name), None)


def _cells(name: str, measured: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return what was measured of a claim on each processor."""
    found = [_named(name, report) for report in measured.values()]
    return ["not measured" if claim is None else _value(claim) for claim in found]


def _verdict(name: str, measured: Mapping[str, dict[str, Any]]) -> str:
    """Return whether a claim holds, or on which processors."""
    claims = {where: _named(name, report) for where, report in measured.items()}
    holds = {where: claim["holds"] for where, claim in claims.items() if claim is not None}
    if len(set(holds.values())) == 1:
        return VERDICTS[next(iter(holds.values()))]
    kept = [where for where, verdict in holds.items() if verdict]
    return f"on {', '.join(kept)}" if kept else VERDICTS[False]


def _value(claim: dict[str, Any]) -> str:
    value = claim["value"]
    return (
        ""
        if value is None
        else f"{value:,.3g} {claim['unit']}"
        if abs(value) < 1000
        else f"{value:,.0f} {claim['unit']}"
    )


def pages() -> list[Path]:
    """Return the pages that have marks."""
    return sorted(
        path for path in PERFORMANCE.glob("*.md") if MARKED.search(path.read_text("utf-8"))
    )


def draw() -> None:
    """Draw the pictures of all reports."""
    for name, report in reports().items():
        for path, content in {file_of(name): report, **others(name)}.items():
            common.draw(content, path)


def rewrite() -> None:
    """Write the pages that show reports, and remove pictures that belong to none."""
    for path in set(FOLDER.rglob("*.svg")) - files():
        path.unlink()
    written = {path: page(path.read_text("utf-8")) for path in pages()} | {CLAIMS: claims()}
    for path, text in written.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(common.ROOT)}")


if __name__ == "__main__":
    draw()
    rewrite()

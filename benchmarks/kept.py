"""Reports that are kept in the repository, and what the pages of performance show of them.

`python -m benchmarks.kept` draws the pictures of all again, and writes what stands below the marks
of the pages (`<!-- measured: NAME -->` to `<!-- end -->`) and the page of all claims. Each is made
from `docs/performance/measured/NAME.json` alone, which `python -m benchmarks --keep NAME` writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks import common, plots

PERFORMANCE = common.ROOT / "docs" / "performance"
FOLDER = PERFORMANCE / "measured"
CLAIMS = PERFORMANCE / "claims.md"
MARKED = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
VERDICTS = {True: "yes", False: "**no**", None: "not measured"}
HEAD = """\
# Claims

What was wanted before it was measured, and what was measured. The tables are made from the reports
that benchmarks write and that the repository keeps. A report has every sample, the versions of the
peers and the state of the machine. `python -m benchmarks --keep NAME` replaces the report of one
benchmark, its pictures and its table here.
"""


def file_of(name: str) -> Path:
    """Return the file of a benchmark's report."""
    return FOLDER / f"{name}.json"


def reports() -> dict[str, dict[str, Any]]:
    """Return the reports that are kept, by the benchmark's name."""
    return {
        path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))
    }


def pictures(name: str, report: dict[str, Any]) -> dict[Path, plots.Picture]:
    """Return the pictures of a report that is kept, by their files."""
    return common.pictures(report, file_of(name))


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
    """Return what a page shows of a report below its mark."""
    if report is None:
        return ""
    shown = "".join(
        f"![{picture.title}](measured/{path.name})\n"
        for path, picture in pictures(name, report).items()
    )
    held = [claim["holds"] for claim in report["claims"] if claim["holds"] is not None]
    claims = f" {sum(held)} of {len(held)} [claims](claims.md#{name}) hold." if held else ""
    return f"\n{shown}\n*{conditions(report)} ([JSON](measured/{name}.json)).{claims}*\n\n"


def page(text: str) -> str:
    """Return a page's text with what it is to show below its marks."""
    kept = reports()
    return MARKED.sub(lambda found: found[1] + below(found[2], kept.get(found[2])) + found[3], text)


def claims() -> str:
    """Return the page of all claims."""
    return "\n".join([HEAD, *(_claims(name, report) for name, report in reports().items())])


def _claims(name: str, report: dict[str, Any]) -> str:
    rows = [
        f"| {claim['name']} | {_value(claim)} | {claim['wanted']} {claim['unit']} "
        f"| {VERDICTS[claim['holds']]} |"
        for claim in report["claims"]
    ]
    head = "| claim | measured | wanted | holds |\n| --- | --- | --- | --- |\n"
    absent = [f"{subject}: {reason}" for subject, reason in report["absent"].items()]
    without = f"\nNot measured: {'; '.join(absent)}.\n" if absent else ""
    table = head + "\n".join(rows) + "\n" if rows else "The report makes no claim.\n"
    return f"## {name}\n\n{report['question']} {conditions(report)}.\n\n{table}{without}"


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
        common.draw(report, file_of(name))


def rewrite() -> None:
    """Write the pages that show reports, and remove pictures that belong to none."""
    drawn = {path for name, report in reports().items() for path in pictures(name, report)}
    for path in set(FOLDER.glob("*.svg")) - drawn:
        path.unlink()
    written = {path: page(path.read_text("utf-8")) for path in pages()} | {CLAIMS: claims()}
    for path, text in written.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(common.ROOT)}")


if __name__ == "__main__":
    draw()
    rewrite()

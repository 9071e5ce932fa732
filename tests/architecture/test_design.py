"""The design page is short and shows every room of the package."""

import re

from tests.architecture.layers import LAYERS
from tests.architecture.repository import ROOT

DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


def test_it_has_at_most_2500_words() -> None:
    assert len(DESIGN.split()) <= 2500


def test_its_diagram_of_layers_names_every_room() -> None:
    diagram = re.search(r"^## Layers$.*?^```text$(.*?)^```$", DESIGN, re.MULTILINE | re.DOTALL)
    assert diagram
    named = set(re.findall(r"\w+", diagram.group(1)))
    rooms = {module.split(".")[0] for layer in LAYERS for module in layer}
    assert rooms - named == {"__init__", "__main__"}

"""A cluster's `get`, and what the tests of graphs share."""

from __future__ import annotations

import pytest

pytest.importorskip("dask", reason="the extra 'dask' is not installed")

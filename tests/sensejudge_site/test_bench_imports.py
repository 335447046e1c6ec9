from __future__ import annotations

import pytest

from sensejudge_site import benches


@pytest.mark.processes
@pytest.mark.usefixtures("prepared_sites")
def test_both_ways_are_measured_at_a_tiny_size():
    bench = benches.run("imports", {"items": 3})
    figures = {figure.name: figure for figure in bench.figures}
    assert figures["pairs"].value == 3
    assert figures["upload_s"].published == 2.1
    assert {"command_s", "command_cpu_s", "command_above_idle_mb"} <= figures.keys()
    assert figures["upload_above_idle_mb"].value >= 0

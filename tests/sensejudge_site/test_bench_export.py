from __future__ import annotations

from itertools import product

import pytest

from sensejudge_site import benches


@pytest.mark.processes
@pytest.mark.usefixtures("prepared_sites")
def test_every_file_is_written_both_ways_at_a_tiny_size():
    figures = {each.name: each.value for each in benches.run("export", {"items": 12}).figures}
    for kind, form in product(("labels", "judgments"), ("jsonl", "csv")):
        ours, naive = f"{kind}_{form}", f"{kind}_{form}_naive"
        assert (figures[f"{ours}_rows"], figures[f"{naive}_rows"]) == (12, 12)
        assert figures[f"{ours}_rows_per_s"] > 0
        assert figures[f"{ours}_first_ms"] > 0
        assert figures[f"{naive}_above_idle_mb"] >= 0

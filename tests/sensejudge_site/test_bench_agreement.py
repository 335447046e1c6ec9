from __future__ import annotations

from sensejudge_site import benches


def test_the_bench_measures_fifty_thousand_labels():
    figures = {each.name: each.value for each in benches.run("agreement").figures}
    assert figures["labels"] == 50_000
    assert figures["verdicts_ms"] > 0
    assert figures["scores_ms"] > 0

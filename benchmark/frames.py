"""Tables that are easier to turn over in pandas, which is imported here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from typing import Final

from benchmark.core.report import ReportRow

ALL_SCENARIOS: Final = "all"
_SHOWN: Final = ("n", "base", "selected", "low", "high")


def agreement_table(rows: Sequence[ReportRow]) -> list[Mapping[str, object]]:
    """Agreement by scenario (rows) and annotator (columns), as records.

    Columns are `scenario`, then `<annotator> <figure>` for each annotator in the order of the
    rows; a scenario that an annotator has no figures in is None. All scenarios together are `all`.
    """
    import pandas as pd

    if not rows:
        return []
    frame = pd.DataFrame([asdict(row) for row in rows], dtype=object)  # whole n stay whole
    frame["scenario"] = frame["scenario"].fillna(ALL_SCENARIOS)
    scenarios = list(dict.fromkeys(frame["scenario"]))
    annotators = list(dict.fromkeys(frame["annotator"]))
    wide = frame.pivot_table(
        index="scenario", columns="annotator", values=list(_SHOWN), aggfunc="first"
    )
    ordered = wide.reorder_levels([1, 0], axis="columns").reindex(
        index=scenarios, columns=pd.MultiIndex.from_product([annotators, _SHOWN])
    )
    table = ordered.astype(object).where(ordered.notna(), None)
    names = [" ".join(pair) for pair in product(annotators, _SHOWN)]
    return [
        {"scenario": scenario, **dict(zip(names, values, strict=True))}
        for scenario, values in zip(scenarios, table.to_numpy().tolist(), strict=True)
    ]

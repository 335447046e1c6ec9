from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensejudge_site.benches.judge import measure
from sensejudge_site.benches.judge.server import PAIR_ENDS, ServerCounts, common_prefix


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_texts_begin_alike_as_far_as_they_do(one, two):
    length = common_prefix(one, two)
    assert one[:length] == two[:length]
    assert one[length : length + 1] != two[length : length + 1] or length == len(one) == len(two)


def test_what_repeats_is_counted_up_to_the_end_of_the_pair():
    counts = ServerCounts()
    for prompt in (f"aaaa{PAIR_ENDS}x", f"aaaa{PAIR_ENDS}y", f"aabb{PAIR_ENDS}y"):
        counts.add(prompt)
    pair = 4 + len(PAIR_ENDS)
    assert (counts.calls, counts.pair, counts.repeated) == (3, 3 * pair, pair + 2)


@pytest.mark.processes
@pytest.mark.usefixtures("prepared_sites")
def test_the_bench_counts_calls_rows_and_prefixes():
    bench = measure(calls=48, concurrencies=(8,))
    figures = {one.name: one.value for one in bench.figures}
    assert (figures["rows_at_8"], figures["second_run_calls_at_8"]) == (48, 0)
    assert figures["calls_per_s_at_8"] > 0
    # 12 preferences a pair in one order: the other order and the next pair begin anew.
    assert figures["prefix_percent_at_8"] > 85

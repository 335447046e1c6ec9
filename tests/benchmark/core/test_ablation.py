from benchmark.core.ablation import ablation_row


def test_without_a_decision_there_is_neither_a_mean_nor_a_difference():
    row = ablation_row([], annotator="ann", variant="all", dev=0, members=0, run=1, seed=7)
    assert (row.mean, row.difference) == (None, None)
    assert row.record()["original"] is None

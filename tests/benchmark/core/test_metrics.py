import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.core.agreement import Measure, cross_table, pair_coefficients
from annotation.core.intervals import MIN_UNITS
from benchmark.core.metrics import (
    METRICS,
    MIN_TURNS_PER_USER,
    Metric,
    MetricName,
    UndefinedMetric,
    evaluate,
    scored,
)
from tests.paths import paper_vectors

POOLED = set(MetricName) - {MetricName.USER_FISHER_PEARSON, MetricName.USER_FISHER_SPEARMAN}


@pytest.fixture
def random_scores():
    rng = np.random.default_rng(11)
    gold = rng.integers(1, 6, size=400)
    predicted = np.clip(gold + rng.integers(-2, 3, size=400), 1, 5)
    users = rng.integers(0, 17, size=400)
    return gold, predicted, users


def value_of(gold, predicted, name, users=None):
    metric = evaluate(scored(gold, predicted, users or ["u"] * len(gold)), name)
    assert metric.value is not None
    return metric.value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # gold 5 4 3 2, predicted 4 4 4 2; means 3.5 and 3.5; sum xy = 1.5*.5 + .5*.5 - .5*.5
        # + 1.5*1.5 = 3; spreads 5 and 3: 3 / sqrt 15.
        (MetricName.PEARSON, 3 / math.sqrt(15)),
        # ranks 4 3 2 1 and 3 3 3 1: sum 1.5*.5 + .5*.5 - .5*.5 + 1.5*1.5 = 3; spreads 5 and 3.
        (MetricName.SPEARMAN, 3 / math.sqrt(15)),
        # sum w O = 1 + 0 + 1 + 0 = 2; sum w E = (for predicted 4: 1+0+1+4 = 6) * 3/4 +
        # (for predicted 2: 9+4+1+0 = 14) / 4 = 8: 1 - 2/8.
        (MetricName.QWK, 0.75),
        (MetricName.MAE, 0.5),
        (MetricName.RMSE, math.sqrt(0.5)),
        (MetricName.F1_DSAT, 2 / 3),  # one of two found, nothing wrongly named
        (MetricName.F1_SAT, 4 / 5),  # both found, one too many
        (MetricName.FALSE_SAT, 0.5),
        (MetricName.FALSE_DSAT, 0.0),
        (MetricName.AUC, 0.75),  # pairs 5-3 tie, 5-2 won, 4-3 tie, 4-2 won: 3 of 4
    ],
)
def test_by_hand(name, expected):
    assert value_of([5, 4, 3, 2], [4, 4, 4, 2], name) == pytest.approx(expected, abs=1e-15)


def oracle(name, gold, predicted):
    from scipy.stats import pearsonr, spearmanr
    from sklearn import metrics as sk

    by_name = {
        MetricName.PEARSON: lambda: pearsonr(gold, predicted).statistic,
        MetricName.SPEARMAN: lambda: spearmanr(gold, predicted).statistic,
        MetricName.QWK: lambda: sk.cohen_kappa_score(gold, predicted, weights="quadratic"),
        MetricName.MAE: lambda: sk.mean_absolute_error(gold, predicted),
        MetricName.RMSE: lambda: sk.root_mean_squared_error(gold, predicted),
        MetricName.F1_DSAT: lambda: sk.f1_score(gold < 4, predicted < 4),
        MetricName.F1_SAT: lambda: sk.f1_score(gold >= 4, predicted >= 4),
        MetricName.FALSE_SAT: lambda: 1 - sk.recall_score(gold < 4, predicted < 4),
        MetricName.FALSE_DSAT: lambda: 1 - sk.recall_score(gold >= 4, predicted >= 4),
        MetricName.AUC: lambda: sk.roc_auc_score(gold >= 4, predicted),
    }
    return by_name[name]()


ORACLES = [
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.QWK,
    MetricName.MAE,
    MetricName.RMSE,
    MetricName.F1_DSAT,
    MetricName.F1_SAT,
    MetricName.FALSE_SAT,
    MetricName.FALSE_DSAT,
    MetricName.AUC,
]


@pytest.mark.parametrize("name", ORACLES)
def test_whole_scores_equal_scipy_and_scikit_learn(name, random_scores):
    gold, predicted, users = random_scores
    ours = value_of(gold, predicted, name, users=users.tolist())
    assert ours == pytest.approx(oracle(name, gold, predicted), abs=1e-12)


@pytest.mark.parametrize("name", [name for name in ORACLES if name is not MetricName.QWK])
def test_expected_scores_equal_scipy_and_scikit_learn(name, random_scores):
    gold, predicted, _ = random_scores
    rng = np.random.default_rng(12)
    expected = np.round(predicted + rng.normal(scale=0.4, size=len(gold)), 1)  # ties remain
    assert value_of(gold, expected, name) == pytest.approx(oracle(name, gold, expected), abs=1e-12)


def test_within_user_equals_scipy_on_centred_columns(random_scores):
    from scipy.stats import pearsonr, spearmanr

    gold, predicted, users = random_scores
    columns = []
    for column in (gold, predicted):
        means = np.array([column[users == user].mean() for user in users])
        columns.append(np.round(column - means, 12))
    assert value_of(
        gold, predicted, MetricName.WITHIN_USER_PEARSON, users=users.tolist()
    ) == pytest.approx(pearsonr(*columns).statistic, abs=1e-11)
    assert value_of(
        gold, predicted, MetricName.WITHIN_USER_SPEARMAN, users=users.tolist()
    ) == pytest.approx(spearmanr(*columns).statistic, abs=1e-11)


def test_within_block_equals_scipy_on_columns_centred_by_user_and_scenario(random_scores):
    from scipy.stats import pearsonr, spearmanr

    gold, predicted, users = random_scores
    scenarios = np.arange(len(gold)) % 3
    blocks = list(zip(users.tolist(), scenarios.tolist(), strict=True))
    columns = []
    for column in (gold, predicted):
        means = [
            column[(users == user) & (scenarios == scenario)].mean() for user, scenario in blocks
        ]
        columns.append(np.round(column - means, 12))
    data = scored(gold, predicted, users.tolist(), blocks)
    for name, oracle_of in (
        (MetricName.WITHIN_BLOCK_PEARSON, pearsonr),
        (MetricName.WITHIN_BLOCK_SPEARMAN, spearmanr),
    ):
        found = evaluate(data, name)
        assert found.value == pytest.approx(oracle_of(*columns).statistic, abs=1e-11)
    assert found != evaluate(data, MetricName.WITHIN_USER_SPEARMAN)


def test_without_scenarios_each_users_turns_are_one_block(random_scores):
    gold, predicted, users = random_scores
    data = scored(gold, predicted, users.tolist())
    assert evaluate(data, MetricName.WITHIN_BLOCK_PEARSON) == evaluate(
        data, MetricName.WITHIN_USER_PEARSON
    )


def test_a_history_that_leaves_its_block_out_lowers_the_figure_within_users_alone():
    """Each block is predicted by the mean of the user's other block: -1 within users.

    Within blocks such a prediction is constant; what it tells besides stands out.
    """
    users, blocks = ["u"] * 4, ["one", "one", "two", "two"]
    gold = [1, 2, 4, 5]
    history = [4.5, 4.5, 1.5, 1.5]
    data = scored(gold, history, users, blocks)
    assert evaluate(data, MetricName.WITHIN_USER_PEARSON).value == pytest.approx(-3 / 10**0.5)
    assert (
        evaluate(data, MetricName.WITHIN_BLOCK_PEARSON).undefined
        is UndefinedMetric.CONSTANT_PREDICTION
    )
    told = scored(gold, [4.4, 4.6, 1.4, 1.6], users, blocks)
    assert evaluate(told, MetricName.WITHIN_USER_PEARSON).value < -0.9
    assert evaluate(told, MetricName.WITHIN_BLOCK_PEARSON).value == pytest.approx(1.0)


def test_user_fisher_means_equal_scipy_user_by_user(random_scores):
    from scipy.stats import pearsonr, spearmanr

    gold, predicted, users = random_scores
    for name, measure in (
        (MetricName.USER_FISHER_PEARSON, pearsonr),
        (MetricName.USER_FISHER_SPEARMAN, spearmanr),
    ):
        total = 0.0
        for user in np.unique(users):
            own = users == user
            r = measure(gold[own], predicted[own]).statistic
            total += own.sum() * math.atanh(min(max(r, -0.9999), 0.9999))
        expected = math.tanh(total / len(gold))
        ours = value_of(gold, predicted, name, users=users.tolist())
        assert ours == pytest.approx(expected, abs=1e-12)


@pytest.fixture(scope="module")
def papers():
    vectors = paper_vectors()
    return vectors["ptb_metrics"]


def test_the_papers_vectors(papers):
    case = papers
    data = scored(case["gold"], case["pred"], case["users"])
    for name, expected in {
        MetricName.MAE: case["glob"]["mae"],
        MetricName.RMSE: case["glob"]["rmse"],
        MetricName.PEARSON: case["glob"]["pearson"],
        MetricName.SPEARMAN: case["glob"]["spearman"],
        MetricName.QWK: case["glob"]["kappa"],
        MetricName.USER_FISHER_PEARSON: case["user_aware"]["pu_pearson"],
        MetricName.USER_FISHER_SPEARMAN: case["user_aware"]["pu_spearman"],
        MetricName.WITHIN_USER_PEARSON: case["user_aware"]["wc_pearson"],
        MetricName.WITHIN_USER_SPEARMAN: case["user_aware"]["wc_spearman"],
        MetricName.F1_SAT: case["boundary"]["f1_sat"],
        MetricName.F1_DSAT: case["boundary"]["f1_dsat"],
        MetricName.AUC: case["boundary"]["auc"],
        MetricName.FALSE_SAT: case["boundary"]["false_sat_rate"],
        MetricName.FALSE_DSAT: case["boundary"]["false_dsat_rate"],
    }.items():
        assert evaluate(data, name).value == pytest.approx(expected, abs=1e-12), name
    assert len(data.gold) == case["glob"]["n_samples"] == case["user_aware"]["wc_n_samples"]
    assert data.user_count == case["user_aware"]["wc_n_users"]
    assert case["user_aware"]["pu_min_samples_threshold"] == MIN_TURNS_PER_USER


def test_the_papers_means_over_users(papers):
    """Errors of every user and kappas of those with three turns, weighted by their turns."""
    expected, users = papers["user_aware"], np.array(papers["users"])
    gold, predicted = np.array(papers["gold"]), np.array(papers["pred"])
    own = [users == user for user in dict.fromkeys(papers["users"])]
    long = [one for one in own if one.sum() >= MIN_TURNS_PER_USER]
    assert (len(own), len(long)) == (expected["pu_n_users_total"], expected["pu_n_users_used_corr"])
    assert len(own) - len(long) == expected["pu_n_users_skipped_corr"]
    for name, key, used in (
        (MetricName.MAE, "pu_mae", own),
        (MetricName.RMSE, "pu_rmse", own),
        (MetricName.QWK, "pu_kappa", long),
    ):
        found = [value_of(gold[one], predicted[one], name) for one in used]
        mean = np.average(found, weights=[one.sum() for one in used])
        assert mean == pytest.approx(expected[key], abs=1e-12), key
    means = [sum(column[one].mean() * one for one in own) for column in (gold, predicted)]
    for name, key in ((MetricName.MAE, "wc_mae"), (MetricName.RMSE, "wc_rmse")):
        found = value_of(gold - means[0], predicted - means[1], name)
        assert found == pytest.approx(expected[key], abs=1e-12), key


def test_the_papers_figures_of_two_classes(papers):
    """What the vector calls by another name follows from the metrics here, kappa from those of
    agreement; precision 1 of both classes is that nobody is named wrongly."""
    expected = papers["boundary"]
    data = scored(papers["gold"], papers["pred"], papers["users"])
    found = {name: evaluate(data, name).value for name in MetricName}
    assert 1 - found[MetricName.FALSE_DSAT] == expected["recall_sat"] == expected["precision_dsat"]
    assert 1 - found[MetricName.FALSE_SAT] == expected["recall_dsat"] == expected["precision_sat"]
    mean = (found[MetricName.F1_SAT] + found[MetricName.F1_DSAT]) / 2
    assert mean == expected["f1_macro"]
    cells = cross_table(
        *((column >= 4).astype(int) for column in (data.gold, data.predicted)), categories=2
    )
    assert cells.tolist() == [[expected["n_dsat_gold"], 0], [0, expected["n_sat_gold"]]]
    assert cells.sum(axis=0).tolist() == [expected["n_dsat_pred"], expected["n_sat_pred"]]
    measures = (Measure.PERCENT, Measure.KAPPA)
    share, kappa = pair_coefficients(measures, cells, seed=0, draws=10)
    assert (share.value, kappa.value) == (expected["accuracy"], expected["kappa"])


@pytest.mark.parametrize(
    ("gold", "predicted", "name", "reason"),
    [
        ([3, 3], [1, 2], MetricName.PEARSON, UndefinedMetric.CONSTANT_GOLD),
        ([3, 4], [2, 2], MetricName.PEARSON, UndefinedMetric.CONSTANT_PREDICTION),
        ([3, 4], [2, 2], MetricName.SPEARMAN, UndefinedMetric.CONSTANT_PREDICTION),
        ([3, 3], [3, 3], MetricName.QWK, UndefinedMetric.CONSTANT_GOLD),
        ([3, 3], [1, 2], MetricName.WITHIN_USER_PEARSON, UndefinedMetric.CONSTANT_GOLD),
        ([3, 4], [2, 2], MetricName.WITHIN_USER_SPEARMAN, UndefinedMetric.CONSTANT_PREDICTION),
        ([3, 3], [1, 2], MetricName.WITHIN_BLOCK_PEARSON, UndefinedMetric.CONSTANT_GOLD),
        ([4, 5], [4, 4], MetricName.F1_DSAT, UndefinedMetric.ONE_CLASS),
        ([1, 2], [1, 2], MetricName.F1_SAT, UndefinedMetric.ONE_CLASS),
        ([4, 5], [1, 2], MetricName.FALSE_SAT, UndefinedMetric.ONE_CLASS),
        ([1, 2], [1, 2], MetricName.FALSE_DSAT, UndefinedMetric.ONE_CLASS),
        ([4, 5], [1, 2], MetricName.AUC, UndefinedMetric.ONE_CLASS),
        ([4, 5], [1, 2], MetricName.USER_FISHER_PEARSON, UndefinedMetric.NO_USABLE_USER),
        ([4, 5, 4], [2, 2, 2], MetricName.USER_FISHER_SPEARMAN, UndefinedMetric.NO_USABLE_USER),
    ],
)
def test_what_has_no_value_says_why(gold, predicted, name, reason):
    data = scored(gold, predicted, ["u"] * len(gold))
    assert evaluate(data, name, seed=0) == Metric(None, reason)


@pytest.mark.parametrize("name", MetricName)
def test_no_turns_no_value(name):
    assert evaluate(scored([], [], []), name) == Metric(None, UndefinedMetric.EMPTY)


def test_every_metric_has_its_function():
    assert set(METRICS) == set(MetricName)


def test_columns_must_fit():
    with pytest.raises(ValueError, match="differ in number"):
        scored([1, 2], [1], ["u", "u"])


@pytest.mark.parametrize("predicted", [[3.5, 4], [0, 4], [6, 4]])
def test_qwk_needs_whole_scores(predicted):
    with pytest.raises(ValueError, match="whole scores"):
        evaluate(scored([3, 4], predicted, ["u", "u"]), MetricName.QWK)


def test_just_below_four_is_dissatisfied():
    assert value_of([3, 4], [3.9, 4.0], MetricName.F1_DSAT) == 1.0


ROWS = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3)), min_size=2, max_size=30
)


@given(rows=ROWS, name=st.sampled_from(list(MetricName)), data=st.data())
def test_the_order_of_turns_does_not_matter(rows, name, data):
    shuffled = data.draw(st.permutations(rows))
    first = evaluate(scored(*zip(*rows, strict=True)), name)
    second = evaluate(scored(*zip(*shuffled, strict=True)), name)
    assert first.undefined == second.undefined
    if first.value is not None:
        assert second.value == pytest.approx(first.value, abs=1e-9)


@given(rows=ROWS, name=st.sampled_from(sorted(POOLED)), data=st.data())
def test_a_weight_is_a_repetition(rows, name, data):
    """Weights 0, 1, 2 give what listing each turn that often gives: the bootstrap is exact.

    Users are weighted whole, as a user-clustered draw does, so that centring stays the same.
    """
    times = {user: data.draw(st.integers(0, 2)) for user in {row[2] for row in rows}}
    repeated = [
        (gold, predicted, user) for gold, predicted, user in rows for _ in range(times[user])
    ]
    weights = np.array([[float(times[user]) for _, _, user in rows]])
    if not repeated:
        return
    listed = evaluate(scored(*zip(*repeated, strict=True)), name).value
    weighted = float(METRICS[name](scored(*zip(*rows, strict=True)), weights)[0])
    if listed is None:
        assert math.isnan(weighted)
    else:
        assert weighted == pytest.approx(listed, abs=1e-9)


@pytest.mark.parametrize("name", MetricName)
def test_intervals_hold_the_figure_and_repeat(name, random_scores):
    gold, predicted, users = random_scores
    data = scored(gold, predicted, users.tolist())
    metric = evaluate(data, name, seed=4, draws=300)
    assert metric.value is not None
    assert metric.interval is not None
    assert metric.interval.low < metric.value < metric.interval.high
    assert metric == evaluate(data, name, seed=4, draws=300)
    assert metric.interval != evaluate(data, name, seed=5, draws=300).interval


def test_users_are_drawn_whole():
    """Each user errs by 1 in one turn of two: whoever is drawn, the mean error is one half."""
    users = [user for user in range(MIN_UNITS) for _turn in range(2)]
    data = scored([1, 2] * MIN_UNITS, [1, 3] * MIN_UNITS, users)
    metric = evaluate(data, MetricName.MAE, seed=0)
    assert metric.interval is not None
    assert metric.interval.low == metric.interval.high == metric.value == 0.5


@pytest.mark.parametrize(("users", "given"), [(1, False), (MIN_UNITS - 1, False), (10, True)])
def test_fewer_than_ten_users_give_no_interval(users, given):
    """However many turns they rated: over one user every draw is the same."""
    who = [place % users for place in range(40)]
    data = scored(
        [1 + place % 5 for place in range(40)], [1 + place % 3 for place in range(40)], who
    )
    metric = evaluate(data, MetricName.MAE, seed=0, draws=50)
    assert metric.value is not None
    assert (metric.interval is not None) is given


@settings(deadline=None, max_examples=20)
@given(rows=ROWS)
def test_a_users_scale_does_not_show_within_users(rows):
    """Adding a constant to all predictions of one user changes no within-user figure."""
    gold, predicted, users = zip(*rows, strict=True)
    moved = [score + 7 * user for score, user in zip(predicted, users, strict=True)]
    for name in (MetricName.WITHIN_USER_PEARSON, MetricName.WITHIN_USER_SPEARMAN):
        first = evaluate(scored(gold, predicted, users), name)
        second = evaluate(scored(gold, moved, users), name)
        assert (first.value is None) == (second.value is None)
        if first.value is not None:
            assert second.value == pytest.approx(first.value, abs=1e-9)

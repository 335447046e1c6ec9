"""How alike two rankings are: with a reference from a file, and between annotators.

Kendall's tau-b and Spearman's rho of the models that both rank. Their intervals are percentiles of
bootstrap draws of sessions; a reference is taken as it is. Between annotators every draw takes the
same sessions for all, and each annotator's ratings have the weak prior of adaptive pairing, so that
one whom few models beat has a whole ranking, too.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from annotation.core.intervals import Interval, Units, percentile_interval, ratio
from annotation.core.refusals import Refused
from benchmark.core.bradley_terry import PRIOR, VerdictCounts, fit_log_odds
from benchmark.core.rank_sets import SAME, Floats
from benchmark.core.ranking import Ranking, WinRate

LEAST_MODELS: Final = 3
"""Of two models the order is the same or not: that is no correlation."""
_HALF: Final = 0.5
FAVOURITE: Final = 0.9
"""From this share of the draws on a model is said to be the one an annotator likes best."""
MOST_ANNOTATORS: Final = 30
DRAWS_BETWEEN: Final = 500
_CHUNK: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Of `models` that both rank; None where either holds all of them equal."""

    models: int
    kendall: float | None
    kendall_interval: Interval | None
    spearman: float | None
    spearman_interval: Interval | None


def orders(lowest: Floats, highest: Floats) -> Floats:
    """Draws x models x models: 1 where the first is above the second, -1 below, 0 open or equal."""
    above = lowest[:, :, None] > highest[:, None, :] + SAME
    return above.astype(np.float64) - above.transpose(0, 2, 1)


def kendall(one: Floats, other: Floats) -> Floats:
    """Tau-b of orders (draws x models x models); nan where one holds all models equal."""
    agreed = (one * other).sum(axis=(1, 2))
    return ratio(agreed, np.sqrt((one**2).sum(axis=(1, 2)) * (other**2).sum(axis=(1, 2))))


def spearman(one: Floats, other: Floats) -> Floats:
    """Pearson of average ranks, which are half of how many are below less how many above."""
    first, second = one.sum(axis=2), other.sum(axis=2)
    both = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return ratio((first * second).sum(axis=1), both)


def _agreement(
    point: tuple[Floats, Floats], drawn: tuple[Floats, Floats], units: Units
) -> RankAgreement:
    """Of orders: (1, models, models) for the values, draws for the intervals."""
    values = []
    for measure in (kendall, spearman):
        value = float(measure(*point)[0])
        interval = percentile_interval(measure(*drawn), units=units) if len(drawn[0]) else None
        values.append((value if isfinite(value) else None, interval if isfinite(value) else None))
    (tau, tau_interval), (rho, rho_interval) = values
    return RankAgreement(point[0].shape[1], tau, tau_interval, rho, rho_interval)


def reference_agreement(ranking: Ranking, reference: Mapping[str, float]) -> RankAgreement | None:
    """A ranking beside scores of a reference; None where both have fewer than three models."""
    rated = {row.model: row.rating for row in ranking.models if row.rating is not None}
    sample = ranking.sample
    names = [name for name in (sample.models if sample else ()) if name in reference]
    if len(names) < LEAST_MODELS or sample is None:
        return None
    places = [sample.models.index(name) for name in names]
    ours = np.array([[rated[name] for name in names]], dtype=np.float64)
    scores = np.array([reference[name] for name in names])
    theirs = np.unique(scores, return_inverse=True)[1][None].astype(np.float64)  # as they are given
    drawn = orders(sample.lowest[:, places], sample.highest[:, places])
    aim = orders(theirs, theirs)
    return _agreement(
        (orders(ours, ours), aim), (drawn, np.repeat(aim, len(drawn), axis=0)), sample.units
    )


def groups_alike(ranking: Ranking) -> tuple[tuple[str, ...], ...]:
    """The rated models, best first, those in one group that cannot be told apart.

    None is surely ahead of a later one of its group.
    """
    rated = [row.model for row in ranking.models if row.rating is not None]
    groups: list[tuple[str, ...]] = [(model,) for model in rated[:1]]
    for model in rated[1:]:
        is_clear = any((one, model) in ranking.ahead for one in groups[-1])
        groups.append((model,) if is_clear else (*groups.pop(), model))
    return tuple(groups)


class Leader(NamedTuple):
    """Who is first, and how clearly.

    `rival` is the model that it is least surely above, in `share` of the draws. Both are None of a
    model that never lost: it has no rating, and is above all in every draw. `is_clear` needs a rank
    set that holds the first rank alone, or enough sessions of which it surely wins more than half.
    """

    model: str
    rival: str | None
    share: float | None
    is_clear: bool


def leader(ranking: Ranking, win_rates: Mapping[str, WinRate]) -> Leader | None:
    """Who leads; None where several share the first place, or without intervals."""
    first = [row for row in ranking.models if row.rank == 1]
    rated = [row for row in ranking.models if row.rating is not None]
    if first and first[0].rating is None:
        interval = win_rates[first[0].model].interval
        if len(first) > 1 or ranking.units.few:
            return None
        is_clear = interval is not None and interval.low > _HALF
        return Leader(first[0].model, None, None, is_clear)
    names = [row.model for row in rated]
    rivals = [(share, to) for (one, to), share in ranking.above.items() if one == names[0]]
    if not rivals:
        return None
    share, rival = min(rivals, key=lambda each: (each[0], names.index(each[1])))
    return Leader(names[0], rival, share, rated[0].rank_high == 1)


class AnnotatorRanking(NamedTuple):
    """One annotator's models, best first, with who they are surest of, and the others beside them.

    `ranks` has a number a model, equal ratings sharing one. `first` is the share of draws in which
    the best is, those in which it shares the place by how many do; None where it shares it in the
    ranking itself. `others` is their agreement with what all others together say, None where that
    has fewer than three models in common.
    """

    annotator: str
    models: tuple[str, ...]
    ranks: tuple[int, ...]
    first: float | None
    comparisons: int
    sessions: int
    others: RankAgreement | None

    def told(self, above: str) -> str:
        """The models in one line, with `above` between them, or "=" between equals."""
        return " ".join(f"{model} {sign}".rstrip() for model, sign in self.steps(above))

    def steps(self, above: str) -> Iterator[tuple[str, str]]:
        """Each model with what stands after it, "" after the last."""
        for place, model in enumerate(self.models):
            follows = self.ranks[place + 1 : place + 2]
            sign = "=" if follows == self.ranks[place : place + 1] else above
            yield model, sign if follows else ""


class AnnotatorRankings(NamedTuple):
    """Annotators of enough sessions, by name; of each two how alike they rank.

    `few` have fewer sessions, or models; `more` were left out as there are too many.
    """

    rows: tuple[AnnotatorRanking, ...]
    pairs: dict[tuple[str, str], RankAgreement]
    few: tuple[str, ...]
    more: tuple[str, ...]

    @property
    def at_odds(self) -> dict[str, tuple[str, ...]]:
        """By favourite the annotators who are sure of it; empty where they have no two."""
        sure: dict[str, tuple[str, ...]] = {}
        for row in self.rows:
            if row.first is not None and row.first >= FAVOURITE:
                sure[row.models[0]] = (*sure.get(row.models[0], ()), row.annotator)
        return sure if len(sure) > 1 else {}


def annotator_rankings(
    outcomes: Mapping[str, Sequence[VerdictCounts]], *, seed: int, draws: int = DRAWS_BETWEEN
) -> AnnotatorRankings:
    """How each annotator ranks the models, and how alike any two do.

    Args:
        outcomes: by annotator; each with the session that it is of.
        seed: of the draws.
        draws: how many.
    """
    told = {name: [row for row in own if _tells(row)] for name, own in outcomes.items()}
    enough = [name for name, own in told.items() if _is_enough(own)]
    enough.sort(key=lambda name: (-len(told[name]), name))
    kept, more = sorted(enough[:MOST_ANNOTATORS]), sorted(enough[MOST_ANNOTATORS:])
    few = tuple(sorted(set(outcomes) - set(enough)))
    if not kept:
        return AnnotatorRankings((), {}, few, ())
    rows = [row for own in told.values() for row in own]
    models = sorted({model for row in rows for model in (row.model_a, row.model_b)})
    sessions = {key: at for at, key in enumerate(dict.fromkeys(row.session for row in rows))}
    rng = np.random.default_rng(seed)
    drawn = np.array(
        [
            np.bincount(rng.integers(len(sessions), size=len(sessions)), minlength=len(sessions))
            for _ in range(draws)
        ],
        dtype=np.int64,
    ).reshape(draws, len(sessions))
    weights = np.vstack([np.ones((1, len(sessions)), dtype=np.int64), drawn])
    wins = {name: _wins(told[name], models, sessions, weights) for name in kept}
    unseen = [row for name in told if name not in wins for row in told[name]]
    total = sum(wins.values(), _wins(unseen, models, sessions, weights))
    every = Counter(row.session for row in rows)
    own = {name: _Voice.of(wins[name]) for name in kept}
    units = {name: _units(told[name]) for name in kept}
    pairs = {
        (one, other): found
        for one, other in combinations(kept, 2)
        if (found := _alike(own[one], own[other], _fewer(units[one], units[other]))) is not None
    }
    return AnnotatorRankings(
        tuple(
            _row(
                name,
                told[name],
                models,
                own[name],
                _alike(
                    own[name],
                    _Voice.of(total - wins[name]),
                    _fewer(units[name], _units_of_others(told[name], every)),
                ),
            )
            for name in kept
        ),
        pairs,
        few,
        tuple(more),
    )


def _tells(row: VerdictCounts) -> bool:
    return row.wins_a + row.wins_b > 0 and row.model_a != row.model_b


def _is_enough(own: Sequence[VerdictCounts]) -> bool:
    models = {model for row in own for model in (row.model_a, row.model_b)}
    return not _units(own).few and len(models) >= LEAST_MODELS


def _units(own: Sequence[VerdictCounts]) -> Units:
    """The sessions by how many comparisons each holds."""
    return Units.of_rows(row.session for row in own)


def _units_of_others(own: Sequence[VerdictCounts], every: Counter[int | None]) -> Units:
    """The sessions by how many comparisons others have in each, of those of everybody."""
    return Units.of_rows((every - Counter(row.session for row in own)).elements())


def _fewer(one: Units, other: Units) -> Units:
    return Units(min(one.number, other.number), min(one.effective, other.effective))


class _Voice(NamedTuple):
    """Ratings by some verdicts: the fit first, then the draws; and which models they speak of."""

    ratings: Floats
    seen: tuple[int, ...]

    @classmethod
    def of(cls, wins: Floats) -> _Voice:
        games = wins[0] + wins[0].T
        return cls(fit_log_odds(wins, prior=PRIOR), tuple(np.flatnonzero(games.sum(axis=0))))


def _wins(
    own: Sequence[VerdictCounts],
    models: Sequence[str],
    sessions: Mapping[int | None, int],
    weights: Any,
) -> Floats:
    """Draws x models x models."""
    place, size = {model: at for at, model in enumerate(models)}, len(models)
    found = np.zeros((len(weights), size * size))
    step = max(1, _CHUNK // (size * size + len(weights)))
    for start in range(0, len(own), step):
        rows = own[start : start + step]
        table = np.zeros((len(rows), size * size))
        for at, row in enumerate(rows):
            a, b = place[row.model_a], place[row.model_b]
            table[at, a * size + b], table[at, b * size + a] = row.wins_a, row.wins_b
        found += weights[:, [sessions[row.session] for row in rows]].astype(np.float64) @ table
    return found.reshape(len(weights), size, size)


def _alike(one: _Voice, other: _Voice, units: Units) -> RankAgreement | None:
    both = [place for place in one.seen if place in other.seen]
    if len(both) < LEAST_MODELS:
        return None
    first, second = (orders(each.ratings[:, both], each.ratings[:, both]) for each in (one, other))
    return _agreement((first[:1], second[:1]), (first[1:], second[1:]), units)


def _row(
    name: str,
    own: Sequence[VerdictCounts],
    models: Sequence[str],
    voice: _Voice,
    others: RankAgreement | None,
) -> AnnotatorRanking:
    seen = list(voice.seen)
    ratings = voice.ratings[:, seen]
    ranks = 1 + (ratings[0] > ratings[0][:, None] + SAME).sum(axis=1)
    ranked = sorted(range(len(seen)), key=lambda at: (ranks[at], models[seen[at]]))
    leads = ratings[1:] >= ratings[1:].max(axis=1, keepdims=True) - SAME
    shares = (leads / leads.sum(axis=1, keepdims=True)).sum(axis=0) / max(1, len(leads))
    return AnnotatorRanking(
        name,
        tuple(models[seen[at]] for at in ranked),
        tuple(ranks[ranked].tolist()),
        float(shares[ranked[0]]) if len(leads) and (ranks == 1).sum() == 1 else None,
        len(own),
        _units(own).number,
        others,
    )


_UNREADABLE: Final = (*(ValueError, KeyError, TypeError, OverflowError, RecursionError, csv.Error),)


def read_reference(text: str) -> dict[str, float]:
    """Scores of models, the higher the better, from a file's text.

    JSON {model: score}, or rows of CSV or JSON with `model` and `score`, or `rank`, of which the
    lower is the better.

    Raises:
        Refused: it is none of these, names a model twice, or fewer than three.
    """
    stripped = text.lstrip("\ufeff").strip()
    try:
        rows = _json_rows(stripped) if stripped[:1] in {"{", "["} else _csv_rows(stripped)
        found = dict(rows)
    except _UNREADABLE as error:
        message = f"expected columns model and score, or rank: {error}"
        raise Refused("reference:invalid", message) from error
    if len(found) < len(rows) or len(found) < LEAST_MODELS:
        what = "names a model twice" if len(found) < len(rows) else "has fewer than three models"
        raise Refused("reference:invalid", f"the reference {what}")
    return found


def _json_rows(text: str) -> list[tuple[str, float]]:
    value = json.loads(text, object_pairs_hook=_once)
    if isinstance(value, dict):
        return [_scored({"model": name, "score": score}) for name, score in value.items()]
    return [_scored(row) for row in value]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} stands twice in one object")
        found[key] = value
    return found


def _csv_rows(text: str) -> list[tuple[str, float]]:
    return [_scored(row) for row in csv.DictReader(text.splitlines(), strict=True)]


def _scored(row: Mapping[str, Any]) -> tuple[str, float]:
    model = row["model"]
    if not isinstance(model, str) or not model.strip():
        raise ValueError(f"{model!r} is no model's name")
    score = _number(row["score"]) if "score" in row else -_number(row["rank"])
    return model.strip(), score


def _number(value: object) -> float:
    number = float(value) if isinstance(value, str | int | float) else float("nan")
    if not isfinite(number):
        raise ValueError(f"{value!r} is not a number")
    return number

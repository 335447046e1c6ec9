"""Training the learned evaluator, and how its like does on users it has not seen.

Cut points, chances and the figures on training users all come from predictions in which the
user's labels of the target scenario and all labels that trained the general part were others':
each group of users is held out in turn, and reads its own history as a new user would.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.intervals import FloatArray
from annotation.core.refusals import Refused
from judging.core.retrieval import Block
from judging.core.satisfaction_decisions import (
    REASONS,
    ReasonModel,
    bent,
    choose_cuts,
    fit_logistic,
    fit_reasons,
    reason_counts,
    whole_scores,
)
from judging.core.satisfaction_features import Group
from judging.core.satisfaction_general import (
    General,
    GeneralSettings,
    deviation,
    fit_general,
    scaling,
    spread_of,
)
from judging.core.satisfaction_model import (
    Learned,
    Model,
    Prepared,
    Settings,
    dissatisfied_share,
    expect,
    predict_corpus,
    prepare,
)
from judging.core.satisfaction_neighbours import Corpus, Example, IntArray, Measured, read_blocks

SEED: Final = 42
EXAMPLES_A_SCORE: Final = 2
"""Ten examples, two of each score (protocols A2.5)."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Users who are judged, and those whose ratings they are judged by; no user is in both."""

    judged: tuple[int, ...]
    training: tuple[int, ...]


def folds(
    judged: Collection[int], raters: Collection[int], *, seed: int = SEED
) -> tuple[Fold, ...]:
    """One fold where there are raters who are not judged, else two.

    Args:
        judged: ids of the users whose turns are scored; some may have rated nothing.
        raters: ids of those whose ratings may teach; whoever is judged is left out.
        seed: of the halves.

    Raises:
        Refused: there is nobody to learn from.
    """
    everyone, others = sorted(judged), tuple(sorted(set(raters) - set(judged)))
    if others:
        return (Fold(tuple(everyone), others),)
    teachers = sorted(set(everyone).intersection(raters))
    if len(teachers) < 2:
        raise Refused("run:no-training-users", "there is no other user whose ratings could teach")
    random.Random(seed).shuffle(teachers)
    first, second = (tuple(sorted(teachers[start::2])) for start in (0, 1))
    silent = set(everyone).difference(teachers)  # the first half is as good for them as the other
    return (Fold(first, second), Fold(tuple(sorted({*second, *silent})), first))


class HasScore(Protocol):
    """Anything with a score of 1-5."""

    @property
    def score(self) -> int:
        """The score."""
        ...


Rated = TypeVar("Rated", bound=HasScore)


def balanced(rated: Sequence[Rated], *, seed: int = SEED) -> tuple[Rated, ...]:
    """Two examples of each score, drawn by seed, lowest score first; fewer where one is rarer."""
    shuffled = list(rated)
    random.Random(seed).shuffle(shuffled)
    found: list[Rated] = []
    for score in range(1, 6):
        found += [one for one in shuffled if one.score == score][:EXAMPLES_A_SCORE]
    return tuple(found)


MIN_USERS: Final = 4
"""Fewer training users leave too little to learn from when some are held out."""


def _nothing() -> None:
    """Nobody is told."""


Mask = NDArray[np.bool_]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Predictions of training users, each by a model that saw none of that user's labels.

    Whole scores, chances and reasons come from decisions learned on the other users' held-out
    predictions. Turns stand in the order of the examples and their targets; a reason is None where
    the user gave none, and chances of reasons are in the order of REASONS. `baselines` plus `moves`
    is an expectation before it is kept in 1-5. `blocks` numbers each turn's user and scenario.
    """

    users: tuple[str, ...]
    blocks: tuple[int, ...]
    gold: tuple[int, ...]
    reasons: tuple[Reason | None, ...]
    expected: tuple[float, ...]
    scores: tuple[int, ...]
    dissatisfied: tuple[float, ...]
    reason_chances: tuple[tuple[float, ...], ...]
    baselines: tuple[float, ...]
    moves: Mapping[Group, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class _Expected:
    """Expectations of all training turns while they are filled in, fold by fold."""

    values: FloatArray
    baselines: FloatArray
    moves: Mapping[Group, FloatArray]

    @classmethod
    def of(cls, turns: int) -> _Expected:
        """Nothing is known yet."""
        return cls(np.zeros(turns), np.zeros(turns), {group: np.zeros(turns) for group in Group})


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, and how its like does on users it has not seen."""

    model: Model
    held_out: HeldOut


@dataclass(frozen=True, slots=True)
class _Turns:
    """The training turns in order: corpus row, block, user number, score, place of the reason.

    The place is -1 where no known reason was given.
    """

    rows: IntArray
    blocks: Numbers
    users: Numbers
    scores: Numbers
    reasons: Numbers
    names: tuple[str, ...]

    def below(self) -> Mask:
        """Which turns dissatisfied."""
        below: Mask = self.scores < SATISFIED_FROM
        return below

    def deviations(self, settings: GeneralSettings) -> FloatArray:
        """Scores less the user's mean, in the user's spreads."""
        found = np.zeros(len(self.rows))
        for user in range(len(self.names)):
            own = self.users == user
            scores = self.scores[own].astype(np.float64)
            found[own] = (scores - scores.mean()) / spread_of(scores, settings)
        return found


def train(
    examples: Sequence[Example],
    settings: Settings | None = None,
    *,
    measured: Measured | None = None,
    pulse: Callable[[], None] = _nothing,
    step: Callable[[], None] = _nothing,
) -> Trained:
    """Train on the labelled blocks of training users.

    Args:
        examples: their blocks with what they said.
        settings: how; the defaults are the evaluator's one setting.
        measured: passages measured before, where several trainings read the same ones.
        pulse: called all the time.
        step: called after each of `steps`, which take seconds or minutes.

    Raises:
        Refused: fewer than MIN_USERS users, or no dissatisfied turn, or only such.
    """
    chosen = settings or Settings()
    watch = _Watch(pulse, step)
    model, held_out = _fit(examples, chosen, measured=measured, watch=watch, fewest=MIN_USERS)
    return Trained(model, held_out(watch))


def steps(settings: Settings, users: int) -> int:
    """How many steps a training on so many users has.

    It reads, learns the general part without each group of users and on everybody, and decides on
    each group's turns.
    """
    return 2 * min(settings.folds, users) + 2


def group_steps(settings: Settings, others: int) -> int:
    """How many steps a group of users has in `predict_apart`, whom so many others teach.

    It reads, learns the general part as a training does, and scores.
    """
    return min(settings.folds, others) + 3


class _Watch(NamedTuple):
    """Who is told that a training is alive, and how far it is."""

    pulse: Callable[[], None]
    step: Callable[[], None]


def check_enough(users: int, below: Sequence[bool], *, fewest: int = MIN_USERS) -> None:
    """Refuse ratings that nothing can be trained on.

    Args:
        users: how many said something.
        below: of each rated turn whether it left its user dissatisfied.
        fewest: how many users it takes.

    Raises:
        Refused: fewer users, or no dissatisfied turn, or only such.
    """
    if users < fewest or all(below) or not any(below):
        raise Refused(
            "learned:too-few-ratings",
            f"training needs {fewest} users, satisfied and dissatisfied turns; there are "
            f"{users} users and {sum(below)} dissatisfied of {len(below)} turns",
        )


def _fit(
    examples: Sequence[Example],
    chosen: Settings,
    *,
    measured: Measured | None,
    watch: _Watch,
    fewest: int,
) -> tuple[Model, Callable[[_Watch], HeldOut]]:
    """A model, and how to decide on its held-out predictions, which takes longer than the rest.

    `fewest` is how many users it takes.
    """
    corpus = read_blocks([one.block for one in examples], measured=measured, pulse=watch.pulse)
    turns = _turns(examples, corpus)
    below = turns.below()
    check_enough(len(turns.names), below.tolist(), fewest=fewest)
    scale = scaling(corpus.features, corpus.scenarios, corpus.counts)
    prepared = prepare(corpus, scale)
    watch.step()
    fold_of_user = _folds(len(turns.names), chosen)
    folds = fold_of_user[turns.users]
    filled = _Expected.of(len(turns.rows))
    expected = filled.values
    for fold in np.unique(folds):
        general, mean = _general(prepared, turns, folds != fold, chosen)
        _fill(filled, prepared, turns, folds == fold, general=general, mean=mean, how=chosen)
        watch.step()
    everyone = np.ones(len(folds), dtype=np.bool_)
    general, mean = _general(prepared, turns, everyone, chosen)
    wide = _wide(corpus, turns, expected)
    model = Model(
        settings=chosen,
        scaling=scale,
        mean=mean,
        general=general,
        cuts=_cuts(turns, expected, everyone, chosen),
        dissatisfied=fit_logistic(wide, below),
        reasons=_reasons(prepared, turns, everyone, chosen),
    )
    watch.step()
    return model, partial(_held_out, prepared, turns, folds, filled, wide, chosen)


def predict_apart(
    taught: Sequence[Example],
    blocks: Sequence[Block],
    *,
    model: Model,
    pulse: Callable[[], None] = _nothing,
    step: Callable[[], None] = _nothing,
) -> tuple[tuple[Learned, ...], ...]:
    """What evaluators say of targets in the stead of those who taught the model, and of others.

    A training user's target may have been rated, and the model have learned from it. So users are
    held out in turn, in as many groups as in a training, and each is scored by an evaluator that
    is trained from scratch on the users of the other groups: their cut points come from no
    prediction that the user's ratings had a part in. Whoever taught nothing is scored by the model.

    Args:
        taught: what the model was trained on.
        blocks: the targets, which carry no label.
        model: trained on all of `taught`.
        pulse: called all the time.
        step: called after each of a group's `group_steps`; who taught nothing has
            none.

    Raises:
        Refused: the others of a group are too few, or all satisfied or dissatisfied.
    """
    group_of = groups_of(taught, model.settings)
    measured: Measured = {}
    found: dict[int, tuple[Learned, ...]] = {}
    for group in sorted({group_of.get(block.user, -1) for block in blocks}):
        places = [at for at, block in enumerate(blocks) if group_of.get(block.user, -1) == group]
        own = model
        if group >= 0:
            others = [one for one in taught if group_of[one.block.user] != group]
            least = MIN_USERS - 1  # a training needs one more, to hold out
            own, _held_out_of_them = _fit(
                others, model.settings, measured=measured, watch=_Watch(pulse, step), fewest=least
            )
        corpus = read_blocks([blocks[at] for at in places], measured=measured, pulse=pulse)
        found |= zip(places, predict_corpus(own, corpus), strict=True)
        if group >= 0:
            step()
    return tuple(found[at] for at in range(len(blocks)))


def groups_of(taught: Sequence[Example], settings: Settings) -> dict[str, int]:
    """By user who taught, the group that is held out together in `predict_apart`."""
    names = list(dict.fromkeys(one.block.user for one in taught))
    groups = _folds(len(names), settings) if names else np.zeros(0, dtype=np.intp)
    return dict(zip(names, groups.tolist(), strict=True))


def _turns(examples: Sequence[Example], corpus: Corpus) -> _Turns:
    names = tuple(dict.fromkeys(own.user for own in corpus.blocks))
    sizes = [len(own.targets) for own in corpus.blocks]
    place = {reason: at for at, reason in enumerate(REASONS)}
    return _Turns(
        rows=np.concatenate([own.targets for own in corpus.blocks] or [np.zeros(0, np.intp)]),
        blocks=np.repeat(np.arange(len(sizes)), sizes),
        users=np.repeat([names.index(own.user) for own in corpus.blocks], sizes).astype(np.intp),
        scores=np.array([score for one in examples for score in one.scores], dtype=np.intp),
        reasons=np.array(
            [-1 if why is None else place.get(why, -1) for one in examples for why in one.reasons],
            dtype=np.intp,
        ),
        names=names,
    )


def _folds(users: int, settings: Settings) -> Numbers:
    """The fold of each user: as even as can be, in a seeded order."""
    order = np.random.default_rng(settings.seed).permutation(users)
    folds = np.zeros(users, dtype=np.intp)
    folds[order] = np.arange(users) % min(settings.folds, users)
    return folds


def _general(
    prepared: Prepared, turns: _Turns, known: Mask, settings: Settings
) -> tuple[General, float]:
    """The general part and the mean score, from some of the training turns."""
    rows = turns.rows[known]
    general = fit_general(
        prepared.rows[rows],
        prepared.texts[rows],
        prepared.centre,
        turns.deviations(settings.general)[known],
        settings.general,
        seed=settings.seed,
    )
    return general, float(turns.scores[known].mean())


def _fill(
    filled: _Expected,
    prepared: Prepared,
    turns: _Turns,
    asked: Mask,
    *,
    general: General,
    mean: float,
    how: Settings,
) -> None:
    """Write the expectations of the users held out."""
    said = deviation(general, prepared.rows, prepared.texts, prepared.centre)
    for block in np.unique(turns.blocks[asked]):
        own = prepared.corpus.blocks[block]
        found = expect(prepared, own, said, mean=mean, settings=how)
        at = turns.blocks == block
        filled.values[at] = bent(found.raw)
        filled.baselines[at] = mean
        for group, moves in found.moves.items():
            filled.moves[group][at] = moves


def _wide(corpus: Corpus, turns: _Turns, expected: FloatArray) -> FloatArray:
    """What the chance of dissatisfaction is read from: n x 2."""
    shares = np.array([dissatisfied_share(own) for own in corpus.blocks])
    return np.column_stack([expected, shares[turns.blocks]])


def _cuts(turns: _Turns, expected: FloatArray, known: Mask, settings: Settings) -> FloatArray:
    return choose_cuts(expected[known], turns.scores[known], turns.users[known], seed=settings.seed)


def _reasons(prepared: Prepared, turns: _Turns, known: Mask, settings: Settings) -> ReasonModel:
    given = known & turns.below() & (turns.reasons >= 0)
    return fit_reasons(
        prepared.texts[turns.rows[given]],
        turns.reasons[given],
        strength=settings.reason_strength,
        lean=settings.reason_lean,
    )


def _held_out(
    prepared: Prepared,
    turns: _Turns,
    folds: Numbers,
    filled: _Expected,
    wide: FloatArray,
    settings: Settings,
    watch: _Watch,
) -> HeldOut:
    """Decide on each fold with what the other folds' held-out predictions teach."""
    below, expected = turns.below(), filled.values
    scores = np.zeros_like(turns.scores)
    reasons = np.zeros((len(scores), len(REASONS)))
    chances = np.zeros(len(below))
    complaints = np.array([reason_counts(own.reasons) for own in prepared.corpus.blocks])
    for fold in np.unique(folds):
        asked, others = folds == fold, folds != fold
        scores[asked] = whole_scores(expected[asked], _cuts(turns, expected, others, settings))
        chances[asked] = fit_logistic(wide[others], below[others]).probability(wide[asked])
        model = _reasons(prepared, turns, others, settings)
        texts = prepared.texts[turns.rows[asked]]
        reasons[asked] = model.probabilities(texts, complaints[turns.blocks[asked]])
        watch.step()
    return HeldOut(
        users=tuple(turns.names[user] for user in turns.users),
        blocks=tuple(turns.blocks.tolist()),
        gold=tuple(turns.scores.tolist()),
        reasons=tuple(None if at < 0 else REASONS[at] for at in turns.reasons),
        expected=tuple(expected.tolist()),
        scores=tuple(scores.tolist()),
        dissatisfied=tuple(chances.tolist()),
        reason_chances=tuple(tuple(own) for own in reasons.tolist()),
        baselines=tuple(filled.baselines.tolist()),
        moves={group: tuple(own.tolist()) for group, own in filled.moves.items()},
    )

"""The learning curve: how well evaluators do that were trained on fewer users.

In each draw some training users are held out and the others stand in a seeded order; models
learn from the first k of them and predict those held out, and further blocks of other users. So
all sizes of a draw answer for the same people, and a larger group holds the smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from annotation.core.refusals import Refused
from judging.core.retrieval import Block
from judging.core.satisfaction_model import Model, Settings, predict_corpus
from judging.core.satisfaction_neighbours import Corpus, Example, Measured, read_blocks
from judging.core.satisfaction_training import MIN_USERS, HeldOut, train

USUAL_SIZES: Final = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_HELD_OUT: Final = 4
"""One user of so many is held out in a draw."""


@dataclass(frozen=True, slots=True)
class CurveTurn:
    """One prediction: whose turn, what was said, the whole and the unrounded score.

    `block` tells a user's turns of one scenario from their others.
    """

    user: str
    gold: int
    score: int
    expected: float
    block: str = ""


@dataclass(frozen=True, slots=True)
class CurveModel:
    """A model of one draw, trained on `users` users, and its predictions.

    `held_out` are of training users whom it did not learn from, in the order of the examples;
    `others` of the further blocks' targets, block by block, as whole and unrounded scores.
    """

    users: int
    draw: int
    held_out: tuple[CurveTurn, ...]
    others: tuple[tuple[tuple[int, float], ...], ...]


def curve_sizes(users: int, asked: Sequence[int] = ()) -> tuple[int, ...]:
    """The numbers of training users to draw, ascending.

    Args:
        users: how many there are; some are held out in each draw.
        asked: the sizes wanted; the usual ones without any.

    Raises:
        Refused: not one of them can be drawn.
    """
    most = users - _held(users)
    found = tuple(sorted({size for size in asked or USUAL_SIZES if MIN_USERS <= size <= most}))
    if not found:
        raise Refused(
            "learned:too-few-ratings",
            f"a learning curve needs {MIN_USERS} training users beside those held out; "
            f"there are {users}, of whom {_held(users)} are held out",
        )
    return found


def learning_curve(
    examples: Sequence[Example],
    others: Sequence[Block] = (),
    *,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    settings: Settings | None = None,
    observer: Callable[[int], None] | None = None,
) -> tuple[CurveModel, ...]:
    """Train models on growing groups of users, and let them predict users they have not seen.

    A group without a dissatisfied turn, or with such alone, teaches nothing and is left out. At
    the end one model learns from everybody: what it says of the training users are its held-out
    predictions, each by a model without that user's group, and it counts as trained on so many.

    Args:
        examples: the training users' blocks with what they said.
        others: further blocks to predict, of users who are not among them.
        sizes: numbers of training users, as `curve_sizes` gives them.
        draws: how many groups of each size.
        seed: of the groups.
        settings: how to train; the defaults are the evaluator's one setting.
        observer: told of each model that was trained, with 1.

    Raises:
        Refused: even all users together are too few, or satisfied throughout.
    """
    chosen = settings or Settings()
    names = sorted({one.block.user for one in examples})
    measured: Measured = {}
    further = read_blocks(others, measured=measured)
    found = []
    for draw in range(draws):
        order = np.random.default_rng((seed, draw)).permutation(len(names))
        held = {names[at] for at in order[: _held(len(names))]}
        pool = [names[at] for at in order[_held(len(names)) :]]
        asked = [one for one in examples if one.block.user in held]
        corpus = read_blocks([one.block for one in asked], measured=measured)
        for size in sizes:
            group = set(pool[:size])
            taught = [one for one in examples if one.block.user in group]
            try:
                model = train(taught, chosen, measured=measured).model
            except Refused:
                continue
            finally:
                if observer is not None:
                    observer(1)
            found.append(
                CurveModel(size, draw, _turns(model, corpus, asked), _scores(model, further))
            )
    whole = train(examples, chosen, measured=measured)
    if observer is not None:
        observer(1)
    aside = -(-len(names) // min(chosen.folds, len(names)))
    found.append(CurveModel(len(names) - aside, draws, _of_held_out(whole.held_out), ()))
    if others:
        found.append(CurveModel(len(names), draws, (), _scores(whole.model, further)))
    return tuple(found)


def _held(users: int) -> int:
    return max(1, users // _HELD_OUT)


def _turns(model: Model, corpus: Corpus, asked: Sequence[Example]) -> tuple[CurveTurn, ...]:
    return tuple(
        CurveTurn(one.block.user, gold, said.score, said.expected, one.block.scenario)
        for one, block in zip(asked, predict_corpus(model, corpus), strict=True)
        for gold, said in zip(one.scores, block, strict=True)
    )


def _scores(model: Model, corpus: Corpus) -> tuple[tuple[tuple[int, float], ...], ...]:
    return tuple(
        tuple((said.score, said.expected) for said in block)
        for block in predict_corpus(model, corpus)
    )


def _of_held_out(held_out: HeldOut) -> tuple[CurveTurn, ...]:
    said = zip(held_out.users, held_out.gold, held_out.scores, held_out.expected, strict=True)
    return tuple(
        CurveTurn(*row, str(block)) for row, block in zip(said, held_out.blocks, strict=True)
    )

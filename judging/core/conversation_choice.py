"""Which model a participant talks with: even over participants and tasks, and not to be guessed.

The turn-level study gave every conversation one model. Its comparisons are only fair where each
participant meets each model about equally often, and each task does too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random


def choose_model(
    candidates: Sequence[int],
    *,
    by_participant: Mapping[int, int],
    by_task: Mapping[int, int],
    in_study: Mapping[int, int],
    random: Random,
) -> int:
    """The model for a conversation that begins.

    It is the one that this participant had least often in the study, of several the one that this
    task had least often, then the one least used in the whole study; a draw is decided at random.
    So, while the candidates stay the same, a participant's counts differ by at most one.

    Args:
        candidates: The models by number, without repeats.
        by_participant: Conversations of this participant, by model.
        by_task: Conversations about this task, by model.
        in_study: All conversations of the study, by model.
        random: Decides draws.

    Raises:
        ValueError: there is no candidate.
    """
    if not candidates:
        raise ValueError("no model to choose from")

    def used(model: int) -> tuple[int, int, int]:
        counts = (by_participant, by_task, in_study)
        return (counts[0].get(model, 0), counts[1].get(model, 0), counts[2].get(model, 0))

    least = min(used(model) for model in candidates)
    return random.choice(sorted(model for model in candidates if used(model) == least))

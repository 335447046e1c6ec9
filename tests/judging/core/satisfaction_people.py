"""Made-up users for tests of the learned evaluator: some like long answers, some short ones."""

from __future__ import annotations

import numpy as np

from annotation.core.choices import Reason
from judging.core.retrieval import HistoryRating, UserSession, UserTurn, build_blocks
from judging.core.satisfaction_decisions import REASONS
from judging.core.satisfaction_neighbours import Example

SCENARIOS = ("travel", "gifts", "recipes")
WORDS = ("hotel", "train", "museum", "rice", "soup", "book", "lamp", "flower", "class", "price")


def sessions(*, users=8, turns=4, seed=0, targets_score=None, target_scenario=None):
    """Rated sessions, one a user and scenario; a target scenario may carry sentinel labels."""
    random = np.random.default_rng(seed)
    found = []
    for user in range(users):
        taste = 1 if user % 2 else -1
        for scenario in SCENARIOS:
            own = []
            for place in range(turns):
                length = int(random.integers(1, 40))
                text = " ".join(random.choice(WORDS, length)) + "."
                liked = 3.4 + taste * (length - 20) / 10 + random.normal() * 0.4
                score = int(np.clip(round(liked), 1, 5))
                if targets_score is not None and scenario == target_scenario:
                    score = targets_score
                complaint = REASONS[int(random.integers(3))]
                reason = complaint if score < 4 else None
                rating = HistoryRating(f"{user}-{scenario}-{place}", text, score, reason)
                own.append(UserTurn(f"What about {WORDS[place]}?", text, (rating,)))
            found.append(
                UserSession(
                    user=str(user),
                    scenario=scenario,
                    key=f"{user}-{scenario}",
                    task_context="You plan a trip by train.",
                    turns=tuple(own),
                )
            )
    return found


def examples(**kwargs):
    """The blocks of such users with what they said."""
    made = sessions(**kwargs)
    said = {
        rating.turn_id: rating
        for session in made
        for turn in session.turns
        for rating in turn.ratings
    }
    return [
        Example(
            block,
            tuple(said[target.turn_id].score for target in block.targets),
            tuple(said[target.turn_id].reason for target in block.targets),
        )
        for block in build_blocks(made)
    ]


NOT_RECORDED = Reason.NOT_RECORDED

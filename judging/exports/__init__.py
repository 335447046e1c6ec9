"""Exports of what the judges said: streamed, in a stable order, in canonical coordinates.

A verdict is in the comparison's own coordinates; `order` says which response was shown first.
Comparisons and responses are named by session, turn (from 1) and key, so that a row can be joined
with the exports of labels.
"""

from __future__ import annotations

from typing import Final

from judging.exports.generation import GENERATED_RESPONSES
from judging.exports.pairwise import JUDGMENTS, PREFERENCE_SETS, PREFERENCES
from judging.exports.peers import PEERS
from judging.exports.satisfaction import MEMORIES, RUBRICS, SATISFACTION_JUDGMENTS

EXPORTS: Final = {
    each.kind: each
    for each in (
        JUDGMENTS,
        PREFERENCES,
        PREFERENCE_SETS,
        MEMORIES,
        SATISFACTION_JUDGMENTS,
        RUBRICS,
        GENERATED_RESPONSES,
        *PEERS,
    )
}

"""What rows of several exports have in common."""

from __future__ import annotations

from typing import Final

from annotation.core.tables import Row
from annotation.models import Dataset, Response, Session, User
from annotation.queries.annotators import names_of
from judging.models import InducedRubric, JudgeRun, Preference

CHUNK: Final = 1000
RUN: Final = ("run", "run_kind", "judge")
TARGET: Final = ("target", "session", "scenario", "turn", "model", "variant")
CALL: Final = ("call", "model", "input_tokens", "cached_tokens", "output_tokens", "raw")


class Names:
    """Annotators by the names of the dataset; anybody else by user name."""

    def __init__(self, dataset: Dataset) -> None:
        self._names = names_of(dataset=dataset)

    def of(self, user: User | None) -> str | None:
        """The name of a user, None for nobody."""
        return None if user is None else self._names.get(user.pk, user.username)


def run_of(run: JudgeRun) -> Row:
    """The run that a row belongs to."""
    return {"run": run.pk, "run_kind": run.kind, "judge": run.judge}


def target_of(response: Response | None, session: Session | None) -> Row:
    """A rated response, or a rated session."""
    turn = None if response is None else response.turn
    of = session if turn is None else turn.session
    return {
        "target": "session" if response is None else "response",
        "session": None if of is None else of.key,
        "scenario": None if of is None else of.scenario.name,
        "turn": None if turn is None else turn.position + 1,
        "model": None if response is None else response.model,
        "variant": None if response is None else response.variant,
    }


def call_of(row: Preference | InducedRubric) -> Row:
    """The reply that a text was read from; of a judge without an endpoint its own words."""
    call = row.call
    if call is None:
        return {**dict.fromkeys(CALL), "raw": row.raw}
    return {
        "call": call.key,
        "model": call.model,
        "input_tokens": call.input_tokens,
        "cached_tokens": call.cached_tokens,
        "output_tokens": call.output_tokens,
        "raw": call.reply,
    }

"""Export of what models were asked to answer: every reply with where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from annotation.core.tables import Row
from annotation.exports.export import Export, moment
from annotation.models import Dataset
from judging.exports.pairwise import CHUNK, RUN, run_of
from judging.models import GeneratedResponse
from judging.queries.calls import key_of, raw_of, with_calls

_SETTINGS: Final = ("temperature", "max_tokens", "system")
_TARGET: Final = ("session", "scenario", "turn", "model", "context")


def _generated(dataset: Dataset) -> Iterator[Row]:
    rows = (
        with_calls(GeneratedResponse.objects.filter(run__dataset=dataset))
        .select_related("run", "turn__session__scenario", "response")
        .order_by("pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        config, call, response = row.run.config, row.call, row.response
        session = row.turn.session
        yield {
            **run_of(row.run),
            "session": session.key,
            "scenario": session.scenario.name,
            "turn": row.turn.position + 1,
            "model": config["judge"]["model"],
            "context": config["context"].lower(),
            "sample": row.sample,
            "continues_own": row.previous_id is not None,
            **{name: config[name] for name in _SETTINGS},
            "status": row.status,
            "text": None if response is None else response.text,
            "new": row.is_new,
            "call": key_of(row),
            "finish_reason": None if call is None else call.finish_reason,
            "input_tokens": None if call is None else call.input_tokens,
            "output_tokens": None if call is None else call.output_tokens,
            "cost": None if call is None or call.cost is None else float(call.cost),
            "error_code": row.error_code,
            "raw": raw_of(row),
            "generated_at": None if call is None else moment(call.created_at),
        }


GENERATED_RESPONSES: Final = Export(
    "generated_responses",
    (
        *RUN,
        *_TARGET,
        "sample",
        "continues_own",
        *_SETTINGS,
        "status",
        "text",
        "new",
        "call",
        "finish_reason",
        "input_tokens",
        "output_tokens",
        "cost",
        "error_code",
        "raw",
        "generated_at",
    ),
    _generated,
)

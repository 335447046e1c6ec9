"""Plain makers of rows for tests: `make_x(**overrides)`, sensible defaults, no library."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from django.db import connection
from django.db.models import Model
from django.utils import timezone

from annotation.models import (
    Claim,
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    Role,
    SatisfactionLabel,
    Scenario,
    Session,
    Study,
    StudyItem,
    StudyStatus,
    Turn,
    User,
)
from judging.models import (
    JudgeRun,
    Judgment,
    LlmCall,
    ModelEndpoint,
    Preference,
    PreferenceKind,
    RunKind,
)

_numbers = count(1)
PASSWORD = "correct horse battery"


def next_number() -> int:
    """A number that nothing else of this test has."""
    return next(_numbers)


def count_anew() -> None:
    """Begin at 1 again: splits are drawn by names, and must not hang on the tests before."""
    global _numbers  # noqa: PLW0603 - one counter, and who imported its functions keeps them
    _numbers = count(1)


def _number_of(model: type[Model], **of: int) -> int:
    """How many rows there are of one parent; Django takes twenty times as long to say it."""
    ((column, parent),) = of.items()
    table, named = map(connection.ops.quote_name, (model._meta.db_table, column))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {table} WHERE {named} = %s", [parent])  # noqa: S608
        (found,) = cursor.fetchone()
    return int(found)


def make_user(
    *, role: str = Role.ANNOTATOR, password: str | None = PASSWORD, **fields: Any
) -> User:
    fields.setdefault("username", f"user-{next(_numbers)}")
    return User.objects.create_user(password=password, role=role, **fields)


def make_rater(dataset: Dataset, name: str) -> User:
    """An imported rater: inactive, named `<dataset>:<name>`."""
    return make_user(
        username=f"{dataset.slug}:{name}", display_name=name, is_active=False, password=None
    )


def make_dataset(**fields: Any) -> Dataset:
    fields.setdefault("slug", f"dataset-{next(_numbers)}")
    fields.setdefault("name", fields["slug"])
    return Dataset.objects.create(**fields)


def make_scenario(dataset: Dataset | None = None, **fields: Any) -> Scenario:
    fields.setdefault("name", f"scenario {next(_numbers)}")
    return Scenario.objects.create(dataset=dataset or make_dataset(), **fields)


def make_session(scenario: Scenario | None = None, **fields: Any) -> Session:
    scenario = scenario or make_scenario()
    number = next(_numbers)
    fields.setdefault("key", f"session-{number}")
    fields.setdefault("position", number)
    return Session.objects.create(dataset=scenario.dataset, scenario=scenario, **fields)


def make_turn(session: Session | None = None, **fields: Any) -> Turn:
    session = session or make_session()
    if "position" not in fields:
        fields["position"] = _number_of(Turn, session_id=session.pk)
    fields.setdefault("user_message", f"Question {next(_numbers)}?")
    return Turn.objects.create(session=session, **fields)


def make_response(turn: Turn | None = None, **fields: Any) -> Response:
    turn = turn or make_turn()
    number = next(_numbers)
    fields.setdefault("text", f"Answer {number}.")
    fields.setdefault("model", f"model-{number}")
    if "position" not in fields:
        fields["position"] = _number_of(Response, turn_id=turn.pk)
    return Response.objects.create(turn=turn, **fields)


def make_comparison(turn: Turn | None = None, **fields: Any) -> Comparison:
    turn = turn or make_turn()
    if "response_a" not in fields:
        fields["response_a"] = make_response(turn)
    if "response_b" not in fields:
        fields["response_b"] = make_response(turn)
    number = next(_numbers)
    fields.setdefault("key", f"pair-{number}")
    fields.setdefault("position", number)
    return Comparison.objects.create(turn=turn, **fields)


def make_study(dataset: Dataset | None = None, **fields: Any) -> Study:
    annotators = fields.pop("annotators", ())
    fields.setdefault("slug", f"study-{next(_numbers)}")
    fields.setdefault("name", fields["slug"])
    fields.setdefault("kind", "PAIRWISE")
    fields.setdefault("status", StudyStatus.OPEN)
    study = Study.objects.create(dataset=dataset or make_dataset(), **fields)
    study.annotators.set(annotators)
    return study


def make_item(study: Study, **fields: Any) -> StudyItem:
    if "position" not in fields:
        fields["position"] = _number_of(StudyItem, study_id=study.pk)
    if "comparison" not in fields and "session" not in fields:
        scenario = study.dataset.scenarios.first() or make_scenario(study.dataset)
        fields["comparison"] = make_comparison(make_turn(make_session(scenario)))
    return StudyItem.objects.create(study=study, **fields)


def make_claim(item: StudyItem, annotator: User, **fields: Any) -> Claim:
    now = timezone.now()
    fields.setdefault("slot", 0)
    fields.setdefault("claimed_at", now)
    fields.setdefault("expires_at", now + timedelta(minutes=15))
    return Claim.objects.create(item=item, annotator=annotator, **fields)


def make_label(comparison: Comparison | None = None, **fields: Any) -> PairwiseLabel:
    if "annotator" not in fields:
        fields["annotator"] = make_user()
    fields.setdefault("verdict", "A")
    return PairwiseLabel.objects.create(comparison=comparison or make_comparison(), **fields)


def make_rating(response: Response | None = None, **fields: Any) -> SatisfactionLabel:
    if "annotator" not in fields:
        fields["annotator"] = make_user()
    fields.setdefault("score", 4)
    if response is None and "session" not in fields:
        response = make_response(original=True)
    return SatisfactionLabel.objects.create(response=response, **fields)


def make_endpoint(**fields: Any) -> ModelEndpoint:
    fields.setdefault("name", f"endpoint-{next(_numbers)}")
    fields.setdefault("base_url", "http://127.0.0.1:9/v1")
    fields.setdefault("model", "test-model")
    # Stated, so that nobody asks for them: the calls of a test are those that it is about.
    fields.setdefault("has_logprobs", False)
    fields.setdefault("has_json_schema", False)
    fields.setdefault("has_system_role", True)
    fields.setdefault("measured_address", f"{fields['base_url']} {fields['model']}")
    return ModelEndpoint.objects.create(**fields)


def make_run(dataset: Dataset | None = None, **fields: Any) -> JudgeRun:
    fields.setdefault("kind", RunKind.TEST)
    fields.setdefault("judge", "lexical")
    return JudgeRun.objects.create(dataset=dataset or make_dataset(), **fields)


def make_preference(**fields: Any) -> Preference:
    fields.setdefault("kind", PreferenceKind.GENERIC)
    fields.setdefault("status", "DONE")
    fields.setdefault("text", "Prefers short answers.")
    return Preference.objects.create(**fields)


def make_call(**fields: Any) -> LlmCall:
    fields = {"key": "c" * 64, "base_url": "http://x/v1", "model": "m", "request": {}, **fields}
    return LlmCall.objects.create(**fields)


def make_judgment(
    run: JudgeRun, comparison: Comparison, preference: Preference, **fields: Any
) -> Judgment:
    fields.setdefault("order", "ORIGINAL")
    fields.setdefault("status", "DONE")
    if fields["status"] == "DONE":
        fields.setdefault("verdict", "A")
    return Judgment.objects.create(run=run, comparison=comparison, preference=preference, **fields)

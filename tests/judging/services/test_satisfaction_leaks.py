"""What is stored about a block, and what was rated in it: the second never reaches the first.

Two datasets are alike but for what one user said of one scenario, where everything that a rater
can say is a sentinel. All that runs store about that block must be equal to the last digit, in
memories, in raw and calibrated scores, in what was retrieved. The labels of the OTHER scenario
must show, or the test would see nothing.
"""

from __future__ import annotations

import pytest

from annotation.models import (
    Dataset,
    Response,
    SatisfactionLabel,
    SessionQuestionnaire,
    User,
)
from judging.core.calibration import Calibration
from judging.core.rules import Level, SatisfactionSettings, Variant
from judging.core.targets import RunTarget, Targets
from judging.models import JudgeRun, SatisfactionJudgment, UserMemory
from judging.queries.satisfaction.labels import changes_since
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_response
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import start_satisfaction_run

pytestmark = pytest.mark.django_db

TARGET, OTHER = "kind 0", "kind 1"
SENTINEL = "SENTINEL"
RUNS = [
    pytest.param(variant, calibration, id=f"{variant.value}-{calibration.value}")
    for variant in (Variant.CHECKLIST, Variant.NO_MEMORY)
    for calibration in (Calibration.RAW, Calibration.MEAN_SHIFT, Calibration.CDF)
]
LEVELS = pytest.mark.parametrize("level", Level)


def say(dataset: Dataset, scenario: str, level: Level) -> None:
    """Sentinels in every field in which the user p1 can say something of a scenario."""
    path = "session" if level is Level.SESSION else "response__turn__session"
    labels = SatisfactionLabel.objects.filter(
        annotator__username=f"{dataset.slug}:p1", **{f"{path}__scenario__name": scenario}
    )
    assert labels.update(
        score=2, reason="OTHER", hallucination="YES", comment=SENTINEL, extra={"flag": SENTINEL}
    )
    sessions = dataset.sessions.filter(scenario__name=scenario, key__contains=":p1 ")
    SessionQuestionnaire.objects.bulk_create(
        SessionQuestionnaire(
            annotator=User.objects.get(username=f"{dataset.slug}:p1"),
            session=session,
            answers=[{"query": SENTINEL, "option": SENTINEL}],
        )
        for session in sessions
    )


def about_target(run: JudgeRun) -> list[object]:
    """Everything that a run stored about p1 and the target scenario, without ids."""
    memories = UserMemory.objects.filter(
        run=run, user__username__endswith=":p1", target_scenario__name=TARGET
    )
    path = "session" if run.config["level"] == Level.SESSION else "response__turn__session"
    scores = SatisfactionJudgment.objects.filter(
        run=run, user__username__endswith=":p1", **{f"{path}__scenario__name": TARGET}
    )
    told: list[object] = []
    for memory in memories:
        counts = {score: len(ids) for score, ids in memory.evidence["by_score"].items()}
        cited = [text for text in _texts(memory.texts) if isinstance(text, str)]
        told.append((memory.statistics, cited, counts, memory.status))
    fields = ("status", "score", "expected_score", "calibrated", "fallback_reason")
    told += scores.order_by("pk").values_list(*fields, "reason", "analysis")
    assert len(told) >= 5
    return told


def _task_of(prompt: str) -> str:
    """The task of the turn that is to be scored, which stands last."""
    return prompt.rpartition("<task>\n")[2].partition("\n</task>")[0]


def _texts(value: object) -> list[object]:
    """The strings in a memory's texts, but for the ids that they cite."""
    if isinstance(value, dict):
        return [text for name, one in value.items() if name != "turn_ids" for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value]


def stored(
    level: Level,
    judge: str,
    settings: SatisfactionSettings,
    changed: str | None,
    targets: Targets | None = None,
):
    dataset = make_ratings(people=2, turns=6, sessions=level is Level.SESSION)
    if targets is not None:
        leave_unrated(dataset, level)
    if changed is not None:
        say(dataset, changed, level)
    asked = {"dataset": dataset, "judge": judge, "settings": settings}
    run = run_to_end(start_satisfaction_run(**asked, targets=targets or Targets()).pk)
    assert run.status == "DONE"
    told = about_target(run)
    assert SENTINEL not in repr(told)
    for memory in UserMemory.objects.filter(run=run).select_related("run"):
        assert not changes_since([memory])
    return told


def leave_unrated(dataset: Dataset, level: Level) -> None:
    """A sixth of the ratings goes; every response of the user p1 has another one beside it."""
    path = "session__key" if level is Level.SESSION else "response__turn__session__key"
    labels = SatisfactionLabel.objects.filter(**{f"{path}__startswith": dataset.slug})
    own = [label.pk for at, label in enumerate(labels.order_by("pk")) if at % 6 == 5]
    assert SatisfactionLabel.objects.filter(pk__in=own).delete()
    originals = Response.objects.filter(turn__session__dataset=dataset, original=True)
    for response in originals.filter(turn__session__key__contains=":p1 "):
        make_response(response.turn, model="other", text=f"{response.text} And more of it.")


@LEVELS
@pytest.mark.parametrize(("variant", "calibration"), RUNS)
def test_nothing_that_was_said_of_the_target_is_in_what_is_stored_about_it(
    variant, calibration, level
):
    settings = SatisfactionSettings(variant=variant, calibration=calibration, level=level)
    plain = stored(level, "lexical", settings, None)
    assert stored(level, "lexical", settings, TARGET) == plain
    if variant is Variant.CHECKLIST or calibration is not Calibration.RAW:
        assert stored(level, "lexical", settings, OTHER) != plain


@LEVELS
@pytest.mark.parametrize("variant", [Variant.CHECKLIST, Variant.NO_MEMORY])
@pytest.mark.parametrize("kind", [RunTarget.ALL, RunTarget.UNLABELLED])
def test_it_is_not_in_what_is_stored_about_unrated_targets_either(kind, variant, level):
    """Memories, raw scores and scores among the originals, of turns and of whole sessions."""
    settings, targets = SatisfactionSettings(variant=variant, level=level), Targets(kind=kind)
    plain = stored(level, "lexical", settings, None, targets)
    assert stored(level, "lexical", settings, TARGET, targets) == plain
    assert stored(level, "lexical", settings, OTHER, targets) != plain


@pytest.mark.parametrize("kind", [RunTarget.TEST, RunTarget.CANDIDATES])
def test_retrieved_texts_are_those_of_other_scenarios(kind):
    """Prompts of the retrieval judge, whole: equal under sentinels, and without the target."""
    asked = []
    is_plain = kind is RunTarget.TEST
    for changed in (None, TARGET, OTHER):
        with FakeLlm() as server:
            endpoint = make_endpoint(base_url=server.base_url, concurrency=4)
            settings = SatisfactionSettings(variant=Variant.RETRIEVAL)
            targets = None if is_plain else Targets(kind=kind)
            stored(Level.TURN, endpoint.name, settings, changed, targets)
            prompts = [body["messages"][-1]["content"] for body in server.bodies]
            assert not any(SENTINEL in prompt for prompt in prompts)
            asked.append({each for each in prompts if _task_of(each) == f"p1 in {TARGET}"})
    assert len(asked[0]) == (6 if is_plain else 12)
    assert asked[0] == asked[1] != asked[2]

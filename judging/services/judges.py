"""From the name of a judge to one that can be asked, for the length of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from asgiref.sync import sync_to_async

from annotation.core.choices import is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.queries.participants import names_of
from judging.core.endpoints import FROM_SETTINGS, Endpoint
from judging.core.prompt_edits import book_of
from judging.core.prompts import LANGUAGES
from judging.core.rubrics import TURNS_A_CHUNK, chunks, drawn
from judging.core.rules import SPECS, GenerationContext, Need, SatisfactionSettings
from judging.core.satisfaction_training import balanced, folds
from judging.core.verdicts import VerdictRule
from judging.judges.lexical import LexicalJudge
from judging.judges.llm_judge import LlmJudge, LlmJudgeSettings
from judging.judges.protocol import Judge
from judging.llm.client import ChatClient, StoredClient
from judging.llm.errors import Breaker, LlmError
from judging.models import InducedRubric, JudgeRun, ModelEndpoint, RubricStep, RunKind
from judging.queries.configurations import (
    WRITER,
    generation_settings,
    pairwise_settings,
    satisfaction_settings,
)
from judging.queries.prompts import EDITED_PROMPTS
from judging.queries.satisfaction.labels import (
    TEACHING,
    FirstRating,
    first_labels,
    folds_of,
    raters,
)
from judging.services.abilities import note_context, note_manners
from judging.services.endpoints import RunBudgetHold, endpoint_of, endpoint_row_from_settings
from judging.services.replies import RowReplyStore, was_answered_lately

LEXICAL: Final = "lexical"
BATCH_FILE: Final = "batch_file"
"""In the configuration of a run whose replies come by file: it never asks the endpoint itself."""
STORED_AT_ONCE: Final = 64
LEAST_AHEAD: Final = 64
"""Questions that wait for a place, at least: a look into the store costs the same for all."""


@dataclass(frozen=True, slots=True)
class OpenJudge:
    """A judge with its connections open.

    `settle` commits the replies that were paid for, so that rows which refer to them can be
    written; `land` ends all asking and waits for calls under way; `concurrency` is how many
    questions it takes at a time.
    """

    judge: Judge
    settle: Callable[[], Awaitable[None]]
    land: Callable[[], Awaitable[None]]
    concurrency: int


JudgeOpener = Callable[[JudgeRun], AbstractAsyncContextManager[OpenJudge]]


def endpoint_for(name: str) -> ModelEndpoint | None:
    """The endpoint row behind a judge's name; None for the lexical judge.

    `llm` is the endpoint of the LLM_* settings, where they name one.

    Raises:
        Refused: there is none, or it is not in use.
    """
    if name == LEXICAL:
        return None
    row = endpoint_row_from_settings() if name == FROM_SETTINGS else None
    row = row or ModelEndpoint.objects.filter(name=name).first()
    if row is None:
        message = f"no judge is named {name!r}: use an endpoint or {LEXICAL}"
        raise Refused("judge:unknown", message)
    if not row.enabled:
        message = f"the endpoint {name!r} is not enabled"
        raise Refused("judge:unknown", message)
    return row


def check_chats(endpoint: ModelEndpoint | None) -> None:
    """Refuses an endpoint that only scores responses.

    Raises:
        Refused: it does.
    """
    if endpoint is not None and endpoint.has_scores:
        message = f"{endpoint.name} only scores responses"
        raise Refused("judge:only-scores", message)


def check_understands(judge: str, writer: str) -> None:
    """Refuses to have the embedded judge judge by what somebody else wrote.

    It reads sentences of its own vocabulary and passes over all others.

    Args:
        judge: the name of who judges.
        writer: of who distils or builds memories; "" for the judge.

    Raises:
        Refused: it is so.
    """
    if judge == LEXICAL and writer:
        message = f"{judge} can only judge by what it wrote itself, not by what {writer} writes"
        raise Refused("run:writer-not-read", message)


def check_models(run: JudgeRun) -> None:
    """Refuses to have another model answer than the one that a run has begun with.

    Address, key and limits may change between two tries; figures of two models are not mixed.

    Args:
        run: with its endpoints.

    Raises:
        Refused: an endpoint was given another model.
    """
    for role, endpoint in ((WRITER, run.writer_endpoint), ("judge", run.endpoint)):
        began: str | None = run.config.get(role, {}).get("model")
        if endpoint is not None and began not in (None, endpoint.model):
            message = (
                f"run {run.pk} began with {began}, and {endpoint.name} now is {endpoint.model}"
            )
            raise Refused("run:model-changed", message)


def comparing_judges() -> list[str]:
    """The judges that name verdicts: the embedded one, and endpoints in use but reward models."""
    rows = ModelEndpoint.objects.filter(enabled=True, has_scores=False).order_by("name")
    return [LEXICAL, *rows.values_list("name", flat=True)]


def check_by_batch_file(endpoint: ModelEndpoint | None, judge: str) -> None:
    """Refuses a judge whose calls cannot be written into a batch file.

    Raises:
        Refused: it asks no endpoint, or a reward model.
    """
    if endpoint is None:
        message = f"{judge} calls no endpoint, so there is nothing to write into a batch file"
        raise Refused("batch:no-chat", message)
    if endpoint.has_scores:
        message = f"{judge} scores responses, and batch files only hold chats: judge without one"
        raise Refused("batch:no-chat", message)


def judge_snapshot(
    endpoint: ModelEndpoint | None,
    config: Mapping[str, Any],
    *,
    context: GenerationContext | None = None,
) -> dict[str, Any]:
    """What of the judge shapes its answers, prompts with their hashes; never the key.

    Args:
        endpoint: None for the lexical judge.
        config: the rules of its run.
        context: of one that answers turns; the run's sampling then stands for the endpoint's.

    Raises:
        Refused: the endpoint's base URL cannot be used.
    """
    if endpoint is None:
        return {"judge": LEXICAL, "version": LexicalJudge.version}
    settings = replace(_llm_settings(config), context=context)
    client = ChatClient(_asked(endpoint, config, generates=context is not None))
    judge = LlmJudge(client, settings=settings)
    by_language = [judge.snapshot(language) for language in LANGUAGES]
    prompts: dict[str, object] = {}
    for snapshot in by_language:
        prompts |= cast("dict[str, object]", snapshot["prompts"])
    return {**by_language[0], "prompts": prompts}


@asynccontextmanager
async def open_judge(run: JudgeRun) -> AsyncIterator[OpenJudge]:
    """Who is asked in a run's present stage, under the rules in its configuration."""
    row = run.endpoint_at(run.stage)
    if row is None:
        yield OpenJudge(LexicalJudge(), settle=_nothing, land=_nothing, concurrency=1)
        return
    if run.config.get(BATCH_FILE):
        async with open_stored_judge(run) as stored:
            yield stored
        return
    generates = run.kind == RunKind.GENERATE
    endpoint = _asked(row, run.config, generates=generates)
    purse = RunBudgetHold(run)
    breaker = Breaker(proved=await sync_to_async(was_answered_lately)(run.pk, row))
    async with (
        RowReplyStore(endpoint=row, run_id=run.pk, purse=purse) as store,
        ChatClient(endpoint, store=store, purse=purse, breaker=breaker) as client,
    ):
        judge = LlmJudge(client, settings=_llm_settings(run.config))
        # More questions than places: while calls are under way the next prompts are written and
        # looked up together, so that a place that falls free is taken at once. The client bounds
        # calls.
        ahead = max(endpoint.concurrency, LEAST_AHEAD)
        at_once = endpoint.concurrency + ahead
        yield OpenJudge(judge, settle=store.commit, land=client.land, concurrency=at_once)
        if client.told_context is not None:
            await sync_to_async(note_context)(row, client.told_context)
        if client.manners is not endpoint.manners:
            await sync_to_async(note_manners)(row, client.manners)


@asynccontextmanager
async def open_stored_judge(
    run: JudgeRun, *, errors: Mapping[str, LlmError] | None = None
) -> AsyncIterator[OpenJudge]:
    """The judge of a run that answers from stored replies alone; rows without one stay pending."""
    async with stored_judge(run, errors=errors) as judge:
        yield OpenJudge(judge, settle=_nothing, land=_nothing, concurrency=STORED_AT_ONCE)


@asynccontextmanager
async def stored_judge(
    run: JudgeRun, *, stage: str = "", errors: Mapping[str, LlmError] | None = None
) -> AsyncIterator[Judge]:
    """Who is asked in a stage without the endpoint: answers come from stored replies alone.

    Where a reply is not stored its methods raise `NotStoredError` with the request.

    Args:
        run: whose judge.
        stage: which; "" for the run's present one.
        errors: calls of which it is known that they failed, by key.
    """
    row = run.endpoint_at(stage or run.stage)
    if row is None:
        yield LexicalJudge()
        return
    endpoint = _asked(row, run.config, generates=run.kind == RunKind.GENERATE)
    async with (
        RowReplyStore(endpoint=None) as store,
        StoredClient(endpoint, store=store, errors=errors) as client,
    ):
        yield LlmJudge(client, settings=_llm_settings(run.config))


def _asked(row: ModelEndpoint, config: Mapping[str, Any], *, generates: bool) -> Endpoint:
    """The endpoint as a run asks it: for letters also where nobody knows whether it gives any.

    One that generates samples as the run says.
    """
    endpoint = endpoint_of(row)
    if generates:
        rules = generation_settings(config)
        sampling = replace(
            endpoint.sampling, temperature=rules.temperature, max_tokens=rules.max_tokens
        )
        return replace(endpoint, sampling=sampling)
    by_letters = config.get("verdict_rule") == VerdictRule.LOGPROB
    if by_letters and row.can("logprobs") is None:
        return replace(endpoint, has_logprobs=True)
    return endpoint


def _llm_settings(config: Mapping[str, Any]) -> LlmJudgeSettings:
    compared = pairwise_settings(config)
    rated = satisfaction_settings(config) if "calibration" in config else None
    usual = LlmJudgeSettings()
    return LlmJudgeSettings(
        rule=compared.verdict_rule,
        window=compared.window,
        unparseable_retries=config.get("unparseable_retries", usual.unparseable_retries),
        prompt=compared.prompt,
        distil_prompt=compared.distil_prompt,
        book=book_of(config.get(EDITED_PROMPTS, ())),
        variant=None if rated is None else rated.variant,
        level=usual.level if rated is None else rated.level,
        sorts=config.get("sorts", False),
    )


async def _nothing() -> None:
    """Nothing is paid for, and nothing under way."""


_CHUNK: Final = 500


def planned_teaching(
    *,
    dataset: Dataset,
    learned_in: Dataset,
    judged: Collection[int] | None,
    settings: SatisfactionSettings,
) -> dict[str, Any]:
    """What a run's configuration says of it; nothing where nothing is taught.

    Users of the training dataset who go by the name of a judged user are left out.

    Args:
        dataset: whose turns are scored.
        learned_in: whose ratings are the judged users' history.
        judged: the users whose turns are scored; None for all.
        settings: the rules of the run.

    Raises:
        Refused: there is nobody to learn from; there is no such training dataset.
    """
    need = SPECS[settings.variant].need
    if not need.from_training:
        return {}
    source = _source(dataset, settings.train)
    everyone = raters(dataset_id=dataset.pk)
    scored = everyone if judged is None else tuple(judged)
    names = names_of(dataset=source)
    elsewhere = [names_of(dataset=one) for one in (dataset, learned_in) if one != source]
    known = {own[user] for own in elsewhere for user in scored if user in own}
    teachers = [user for user in raters(dataset_id=source.pk) if names.get(user) not in known]
    told = []
    for fold in folds(scored, teachers):
        labels = first_labels(dataset_id=source.pk, user_ids=fold.training)
        chosen = balanced(labels) if need is Need.EXAMPLES else ()
        told.append(
            {
                "judged": list(fold.judged),
                "training": list(fold.training),
                "examples": [label.id for label in chosen],
            }
        )
    return {TEACHING: told}


def _source(dataset: Dataset, train: str) -> Dataset:
    if train in ("", dataset.slug):
        return dataset
    found = Dataset.objects.filter(slug=train).first()
    if found is None:
        raise Refused(
            "run:unknown-training", f"there is no dataset {train!r} to take training users from"
        )
    return found


def plan_rubrics(run: JudgeRun, settings: SatisfactionSettings) -> None:
    """Write the PENDING rows of an induction."""
    InducedRubric.objects.bulk_create(planned_rubrics(run, settings), batch_size=_CHUNK)


def planned_rubrics(run: JudgeRun, settings: SatisfactionSettings) -> list[InducedRubric]:
    """The rows of an induction: turns, chunks of them, and the rubrics of a class; not saved.

    A class that no training user shows has no rubric, and no row. Nothing where the variant shows
    no rubrics.
    """
    if SPECS[settings.variant].need is not Need.RUBRICS:
        return []
    dataset = Dataset.objects.get(pk=run.dataset_id)
    source = _source(dataset, settings.train)
    rows: list[InducedRubric] = []
    for at, fold in enumerate(folds_of(run.config)):
        labels = first_labels(dataset_id=source.pk, user_ids=fold["training"])
        for satisfied in (True, False):
            own = drawn([one for one in labels if is_satisfied(one.score) is satisfied])
            rows += _rows(run, at, own, satisfied=satisfied)
    order = list(RubricStep)
    return sorted(rows, key=lambda row: order.index(RubricStep(row.step)))


def _rows(
    run: JudgeRun, fold: int, labels: list[FirstRating], *, satisfied: bool
) -> list[InducedRubric]:
    if not labels:
        return []
    language = Counter(label.language for label in labels).most_common(1)[0][0]

    def row(step: RubricStep, position: int, **more: Any) -> InducedRubric:
        found = {"language": language} | more
        return InducedRubric(
            run=run, fold=fold, satisfied=satisfied, step=step, position=position, **found
        )

    parts = chunks(len(labels))
    return [
        *(
            row(RubricStep.TURN, at, label_id=label.id, language=label.language)
            for at, label in enumerate(labels)
        ),
        *(row(RubricStep.CHUNK, at) for at in range(parts if parts > 1 else 0)),
        row(RubricStep.FINAL, 0),
    ]


def chunk_of(position: int) -> int:
    """The chunk that condenses the reasons of the turn at a position."""
    return position // TURNS_A_CHUNK

"""What an annotator is shown of an item: the conversation, the responses, their own answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, cast

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.agreement_report import Answers
from annotation.core.assignment import SkipReason, renewal_seconds
from annotation.core.choices import Hallucination, Order, Reason, StudyKind, Verdict
from annotation.core.conversations import Message, Speaker, requirements_of
from annotation.core.labelling import (
    VERDICT_VALUES,
    AnswerKind,
    ConversationTask,
    FinishedItem,
    Flag,
    OwnAnswer,
    PairTask,
    Place,
    RatedTurn,
    Rating,
    RatingTask,
    Rules,
    ShownResponse,
    Target,
    TargetKind,
    Task,
    answer_of,
)
from annotation.core.profiles import from_records
from annotation.models import (
    Claim,
    ClaimState,
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Study,
    Turn,
)
from annotation.queries.assignment import last_finished, progress_of, repeat_index
from annotation.queries.targets import TargetRow, target_rows


def rules_of(study: Study) -> Rules:
    """What a study asks, without the rows behind it."""
    return Rules(
        slug=study.slug,
        name=study.name,
        kind=StudyKind(study.kind),
        allow_tie=study.allow_tie,
        allow_strength=study.allow_strength,
        allow_both_bad=study.allow_both_bad,
        ask_hallucination=study.ask_hallucination,
        guidelines=study.guidelines,
        ask_questionnaire=study.ask_questionnaire,
        reveal_turns=study.reveal_turns,
    )


def task_of(claim: Claim, study: Study, now: datetime) -> Task:
    """The page of a claimed item. The claim comes from `own_task_claim`."""
    if claim.item.comparison is not None:
        return _pair_task(claim, claim.item.comparison, study, now)
    session = cast(Session, claim.item.session)
    if study.kind != StudyKind.CONVERSATION:
        return _rating_task(claim, session, study, now)
    if claim.conversation is None:
        return _talk_task(claim, session, study, now)
    # Who talked did not see the instructions behind the replies, and rates without them.
    return replace(_rating_task(claim, claim.conversation, study, now), system_prompt="")


def _place(claim: Claim, study: Study, session: Session, now: datetime) -> Place:
    skipped = claim.state == ClaimState.SKIPPED
    answered = claim.state == ClaimState.DONE
    return Place(
        item=claim.item_id,
        previous=last_finished(study, claim.annotator_id, claim.finished_at),
        scenario=session.scenario.name,
        answered=answered,
        skipped=SkipReason(claim.skip_reason) if skipped else None,
        progress=progress_of(study, claim.annotator_id, now),
        renew_seconds=None if answered or skipped else renewal_seconds(study.lease_minutes),
    )


def _pair_task(claim: Claim, comparison: Comparison, study: Study, now: datetime) -> PairTask:
    order = Order(claim.shown_order or Order.ORIGINAL)
    sides = [comparison.response_a, comparison.response_b]
    if order is Order.SWAPPED:
        sides.reverse()
    dialogue, own_lines = earlier_of(comparison.turn, sides)
    session = comparison.turn.session
    first, second = (
        ShownResponse(side.text, own) for side, own in zip(sides, own_lines, strict=True)
    )
    return PairTask(
        rules=rules_of(study),
        place=_place(claim, study, session, now),
        system_prompt=session.system_prompt,
        task_context=session.task_context,
        dialogue=dialogue,
        question=comparison.turn.user_message,
        first=first,
        second=second,
        given=_given_answer(claim, study),
    )


def _given_answer(claim: Claim, study: Study) -> OwnAnswer | None:
    """The stored answer to a pair, as it was shown; None for a session, or where there is none."""
    if claim.state != ClaimState.DONE:
        return None
    label = PairwiseLabel.objects.filter(
        study=study,
        annotator_id=claim.annotator_id,
        comparison__study_items=claim.item,
        repeat_index=repeat_index(claim.item),
    ).first()
    if label is None:
        return None
    answer = answer_of(Verdict(label.verdict), Order(claim.shown_order or Order.ORIGINAL))
    return OwnAnswer(answer, label.strength, label.both_bad, label.comment, flag_of(label.extra))


def flag_of(extra: Mapping[str, Any]) -> Flag | None:
    """The flag in what a label has besides its columns."""
    return Flag(extra["flag"]) if extra.get("flag") else None


def earlier_of(
    turn: Turn, sides: Sequence[Response]
) -> tuple[tuple[Message, ...], list[tuple[str, ...]]]:
    """The conversation before a turn, and what of it each of two responses has to itself.

    Both usually follow the original line. Where they follow different responses (MT-Bench's second
    turns follow each model's own first), an earlier turn contributes its user message alone, and
    each side shows its own.
    """
    before = Turn.objects.filter(session=turn.session_id, position__lt=turn.position)
    turns = list(before.order_by("position")) if turn.position else []
    if not turns:
        return (), [() for _side in sides]
    rows = {row.pk: row for row in Response.objects.filter(turn__in=turns)}
    lines = [_line_before(side, rows) for side in sides]
    messages: list[Message] = []
    own: list[list[str]] = [[] for _side in sides]
    for past in turns:
        if past.user_message is not None:
            messages.append(Message(Speaker.USER, past.user_message))
        said = [line.get(past.pk) for line in lines]
        if len({row.pk if row else None for row in said}) == 1:
            if said[0] is not None and said[0].text is not None:
                messages.append(Message(Speaker.ASSISTANT, said[0].text))
            continue
        for texts, row in zip(own, said, strict=True):
            if row is not None and row.text is not None:
                texts.append(row.text)
    return tuple(messages), [tuple(texts) for texts in own]


def _line_before(response: Response, rows: dict[int, Response]) -> dict[int, Response]:
    """The earlier responses that a response follows, by turn."""
    if response.continues_id is None:
        return {row.turn_id: row for row in rows.values() if row.original}
    line: dict[int, Response] = {}
    step = rows.get(response.continues_id)
    while step is not None:
        line[step.turn_id] = step
        step = rows.get(step.continues_id) if step.continues_id else None
    return line


def _rating_task(claim: Claim, session: Session, study: Study, now: datetime) -> RatingTask:
    given = _given_ratings(claim, session, study)
    turns = tuple(
        RatedTurn(
            number=number,
            question=turn.user_message,
            response=response.text if response else None,
            given=given.get(response.pk) if response else None,
        )
        for number, (turn, response) in enumerate(original_line(session), start=1)
    )
    return RatingTask(
        rules=rules_of(study),
        place=_place(claim, study, session, now),
        system_prompt=session.system_prompt,
        task_context=session.task_context,
        turns=turns,
        questionnaire=_given_questionnaire(claim, session, study),
    )


def _talk_task(claim: Claim, task: Session, study: Study, now: datetime) -> ConversationTask:
    return ConversationTask(
        rules=rules_of(study),
        place=_place(claim, study, task, now),
        task_context=task.task_context,
        requirements=requirements_of(task.extra),
        min_turns=study.min_turns,
    )


def _given_questionnaire(claim: Claim, session: Session, study: Study) -> dict[str, str]:
    if not study.ask_questionnaire or claim.state != ClaimState.DONE:
        return {}
    stored = SessionQuestionnaire.objects.filter(
        annotator_id=claim.annotator_id, session=session, study=study
    ).first()
    return from_records(stored.answers) if stored else {}


def original_line(session: Session) -> list[tuple[Turn, Response | None]]:
    """The turns of a session in order, each with the response that was really given."""
    originals = {
        row.turn_id: row
        for row in Response.objects.filter(turn__session=session, original=True, text__isnull=False)
    }
    return [(turn, originals.get(turn.pk)) for turn in session.turns.order_by("position")]


def _given_ratings(claim: Claim, session: Session, study: Study) -> dict[int, Rating]:
    labels = SatisfactionLabel.objects.filter(
        study=study,
        annotator_id=claim.annotator_id,
        response__turn__session=session,
        repeat_index=repeat_index(claim.item),
    )
    return {label.response_id: rating_of(label) for label in labels if label.response_id}


def rating_of(label: SatisfactionLabel) -> Rating:
    """What a stored label says."""
    return Rating(
        score=label.score,
        reason=Reason(label.reason) if label.reason else None,
        hallucination=Hallucination(label.hallucination) if label.hallucination else None,
        flag=flag_of(label.extra),
        comment=label.comment,
    )


class AnsweredItem(NamedTuple):
    """An item in an annotator's list of their own answers, and what it is about."""

    finished: FinishedItem
    about: TargetRow


def answered_items(finished: Sequence[FinishedItem], annotator_id: int) -> list[AnsweredItem]:
    """The same items with what they are about; of a conversation held live, that conversation."""
    claims = Claim.objects.filter(annotator=annotator_id, item__in=[each.item for each in finished])
    targets = {
        item: Target(TargetKind.COMPARISON, comparison)
        if comparison
        else Target(TargetKind.SESSION, held or session)
        for item, comparison, held, session in claims.values_list(
            "item", "item__comparison", "conversation", "item__session"
        )
    }
    rows = target_rows(targets.values())
    return [AnsweredItem(each, rows[targets[each.item]]) for each in finished]


_VERDICT_NUMBERS = {verdict.value: number for number, verdict in enumerate(VERDICT_VALUES)}


@dataclass(frozen=True, slots=True)
class DatasetOption:
    """A dataset with answers, and of which kinds."""

    id: int
    slug: str
    name: str
    simulated: bool
    kinds: tuple[AnswerKind, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReadAnswers:
    """The answers, and the two models that each model pair's number stands for.

    Hidden repeats are left out: they measure an annotator against themselves.
    """

    answers: Answers
    models: tuple[tuple[str, str], ...]


def read_answers(
    dataset: int, kind: AnswerKind, *, ties: bool = True, study: int | None = None
) -> ReadAnswers:
    """A dataset's answers of a kind, oldest first: one query for verdicts, two for scores.

    Args:
        dataset: The dataset's number.
        kind: Verdicts or scores.
        ties: Whether ties count as answers; without, they are left out.
        study: Only those given in this study.
    """
    if kind is AnswerKind.VERDICTS:
        return _verdicts(dataset, ties=ties, study=study)
    return ReadAnswers(_scores(dataset, study=study), ())


def _verdicts(dataset: int, *, ties: bool, study: int | None) -> ReadAnswers:
    labels = _given(PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset), study)
    if not ties:
        labels = labels.exclude(verdict=Verdict.TIE)
    rows = list(
        labels.values_list(
            "comparison",
            "annotator",
            "verdict",
            "comparison__turn__session__scenario",
            "comparison__response_a__model",
            "comparison__response_b__model",
            "comparison__turn__session",
        )
    )
    named = {(row[4], row[5]): tuple(sorted((row[4], row[5]))) for row in rows}
    pairs = sorted(set(named.values()))
    numbers = {models: pairs.index(pair) for models, pair in named.items()}
    answers = _columns(
        (2 * item, annotator, _VERDICT_NUMBERS[verdict], scenario, numbers[a, b], session)
        for item, annotator, verdict, scenario, a, b, session in rows
    )
    return ReadAnswers(answers, tuple((first, second) for first, second in pairs))


def _scores(dataset: int, *, study: int | None) -> Answers:
    labels = SatisfactionLabel.objects
    of_turns = _given(labels.filter(response__turn__session__dataset=dataset), study)
    of_sessions = _given(labels.filter(session__dataset=dataset), study)
    rows = [
        (2 * item, annotator, score - 1, scenario, -1, session)
        for item, annotator, score, scenario, session in of_turns.values_list(
            "response",
            "annotator",
            "score",
            "response__turn__session__scenario",
            "response__turn__session",
        )
    ]
    rows += [
        (2 * item + 1, annotator, score - 1, scenario, -1, item)
        for item, annotator, score, scenario in of_sessions.values_list(
            "session", "annotator", "score", "session__scenario"
        )
    ]
    return _columns(rows)


def _given(labels: QuerySet[Any], study: int | None) -> QuerySet[Any]:
    chosen = labels.filter(repeat_index=0).order_by("pk")
    return chosen if study is None else chosen.filter(study=study)


def _columns(rows: Iterable[Sequence[int]]) -> Answers:
    table = np.array(list(rows), dtype=np.int64).reshape(-1, 6)
    return Answers(*table.T)


def dataset_options(*, also: str = "") -> tuple[DatasetOption, ...]:
    """The datasets in which somebody answered, by name, and the one named `also`. One query."""
    verdicts = PairwiseLabel.objects.filter(comparison__turn__session__dataset=OuterRef("pk"))
    of_turns = SatisfactionLabel.objects.filter(response__turn__session__dataset=OuterRef("pk"))
    of_sessions = SatisfactionLabel.objects.filter(session__dataset=OuterRef("pk"))
    rows = (
        Dataset.objects.annotate(
            has_verdicts=Exists(verdicts), has_scores=Q(Exists(of_turns) | Exists(of_sessions))
        )
        .filter(Q(has_verdicts=True) | Q(has_scores=True) | Q(slug=also))
        .order_by("name", "slug")
    )
    return tuple(
        DatasetOption(
            row.pk,
            row.slug,
            row.name,
            row.simulated,
            tuple(
                kind
                for kind, there in (
                    (AnswerKind.VERDICTS, row.has_verdicts),
                    (AnswerKind.SCORES, row.has_scores),
                )
                if there
            ),
        )
        for row in rows
    )

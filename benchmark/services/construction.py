"""Reviewing what a construction left, and freezing it into a version with a datasheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Dataset, Turn, User
from annotation.services.datasets import NewResponse, add_dialogues, add_responses
from benchmark.core.construction import (
    BuildStage,
    DropReason,
    ReviewDecision,
    distribution,
    privacy_fault,
    quality_fault,
    statistics,
    surplus,
)
from benchmark.core.personal_data import personal_data
from benchmark.models import BenchmarkVersion, ConstructionItem
from benchmark.queries.construction import (
    Challenge,
    SourceDialogue,
    challenges,
    child_at,
    construction_passages,
    construction_run,
    in_play,
    limits_of,
    review_counts,
    source_dialogues,
    version_of,
)
from benchmark.services.construction_runs import copy_of, pairing_rules
from benchmark.services.pairing import Verdicts, make_next_batch
from judging.models import JudgeRun, RunStatus
from judging.services.judges import LEXICAL


@transaction.atomic
def review(
    run_id: int,
    position: int,
    decision: ReviewDecision,
    *,
    by: User,
    request: str = "",
    reason: DropReason = DropReason.OTHER,
    note: str = "",
) -> None:
    """Store what a reviewer made of a dialogue; an earlier decision on it is replaced.

    Args:
        run_id: of the construction.
        position: of the dialogue in it.
        decision: keep, keep with an edited prompt, or drop.
        by: who decided.
        request: of EDIT, the text in the place of the last message.
        reason: of DROP.
        note: in the reviewer's words, "" for none.

    Raises:
        Refused: there is no such dialogue; the construction is not over, or frozen; the dialogue
            was dropped before the review, or its edited prompt breaks a rule of the stages.
    """
    run = _open(run_id)
    row = ConstructionItem.objects.select_for_update().filter(run=run, position=position).first()
    if row is None:
        raise Refused("construction:unknown")
    if row.dropped_at not in ("", BuildStage.REVIEW.value):
        raise Refused("construction:not-in-review")
    drops = decision is ReviewDecision.DROP
    if decision is ReviewDecision.EDIT:
        _check_edited(source_dialogues([row.session_id])[0].asking(request), run)
    row.decision = decision.value
    row.request = request if decision is ReviewDecision.EDIT else ""
    row.note, row.reviewed_by, row.reviewed_at = note, by, timezone.now()
    row.dropped_at = BuildStage.REVIEW.value if drops else ""
    row.reason = reason.value if drops else ""
    row.save()


def _open(run_id: int) -> JudgeRun:
    """A construction that can be reviewed and frozen, by one at a time."""
    JudgeRun.objects.select_for_update().filter(pk=run_id).first()
    run = construction_run(run_id)
    if run.status != RunStatus.DONE:
        raise Refused("construction:not-done")
    if version_of(run) is not None:
        raise Refused("construction:frozen")
    return run


def _check_edited(edited: SourceDialogue, run: JudgeRun) -> None:
    if privacy_fault(edited.whole) is not None:
        raise Refused("construction:edit-personal")
    if (fault := quality_fault(edited.dialogue, limits_of(run))) is not None:
        raise Refused("construction:edit-quality", fault.reason.value)


def freeze(run_id: int, *, per_category: int | None, by: User | None = None) -> BenchmarkVersion:
    """Balance what is left, and store it for good: items, datasheet, and a dataset of its own.

    The two models' answers come with it, compared, but for those to a prompt that was edited since
    and those with personal data.

    Args:
        run_id: of the construction.
        per_category: the most dialogues of a category; None for all.
        by: who freezes it, None for nobody.

    Raises:
        Refused: it is not over, or frozen; nothing is left; a dataset took its name.
    """
    with transaction.atomic():
        run = _open(run_id)
        _balance(run, per_category)
        items = list(in_play(run.pk, BuildStage.BALANCE).filter(dropped_at=""))
        if not items:
            raise Refused("construction:nothing-left")
        name = run.config["version"]
        if Dataset.with_staged.filter(slug=name).exists():
            raise Refused("construction:version-taken")
        said = {each.session: each for each in source_dialogues([one.session_id for one in items])}
        met = _challenges(run, items)
        dataset = _dataset(run, items, said, met, by=by)
        records = [
            _record(item, said[item.session_id], met.get(item.candidate_id or 0), run)
            for item in items
        ]
        version = BenchmarkVersion.objects.create(
            version=name,
            run=run,
            dataset=dataset,
            items=records,
            datasheet=_datasheet(run, items, said, per_category),
            created_by=by,
        )
        AuditEvent.objects.create(
            actor=by,
            action="benchmark.frozen",
            target="dataset",
            target_id=dataset.pk,
            detail={"version": name, "run": run.pk, "items": len(items)},
        )
    return version


def _balance(run: JudgeRun, most: int | None) -> None:
    rows = in_play(run.pk, BuildStage.BALANCE).filter(dropped_at="")
    own = {
        key: (category, bool(decision))
        for key, category, decision in rows.values_list("session__key", "category", "decision")
    }
    over = surplus(
        {key: category for key, (category, _reviewed) in own.items()},
        most=most,
        first={key for key, (_category, reviewed) in own.items() if reviewed},
        seed=run.config["seed"],
    )
    full = ConstructionItem.objects.filter(run=run, dropped_at="", session__key__in=over)
    full.update(dropped_at=BuildStage.BALANCE.value, reason=DropReason.SURPLUS.value)


def _challenges(run: JudgeRun, items: Sequence[ConstructionItem]) -> dict[int, Challenge]:
    candidates = [item.candidate_id for item in items if item.candidate_id is not None]
    if not run.config["strong"] or not candidates:
        return {}
    judged = child_at(run.pk, "judge")
    met = challenges(candidates, run.config["models"], None if judged is None else judged.pk)
    return {
        candidate: each
        for candidate, each in met.items()
        if not any(personal_data(text) for text in each.answers if text is not None)
    }


def _dataset(
    run: JudgeRun,
    items: Sequence[ConstructionItem],
    said: Mapping[int, SourceDialogue],
    met: Mapping[int, Challenge],
    *,
    by: User | None,
) -> Dataset:
    dataset = Dataset.objects.create(
        slug=run.config["version"],
        name=run.config["version"],
        source=run.dataset.slug,
        licence=run.dataset.licence,
        description=run.dataset.description,
    )
    copies = [copy_of(said[item.session_id], item.category, item.request) for item in items]
    sessions = add_dialogues(dataset, copies)
    turns = Turn.objects.filter(session__dataset=dataset).order_by("position")
    last = dict(turns.values_list("session_id", "pk"))  # the turn that is answered
    answers = [
        NewResponse(turn=last[sessions[copy.key]], model=model, variant="", text=text)
        for item, copy in zip(items, copies, strict=True)
        if item.candidate_id is not None and item.candidate_id in met and not item.request
        for model, text in zip(run.config["models"], met[item.candidate_id].answers, strict=True)
        if text is not None
    ]
    if answers:
        add_responses(answers)
        make_next_batch(dataset, pairing_rules(run.config["models"]), Verdicts(), by=by)
    return dataset


def _record(
    item: ConstructionItem, said: SourceDialogue, met: Challenge | None, run: JudgeRun
) -> dict[str, Any]:
    """A dialogue as a version holds it."""
    messages = [{"role": each.role.value, "text": each.text} for each in said.whole]
    if item.request:
        messages[-1]["text"] = item.request
    record: dict[str, Any] = {
        "key": said.key,
        "category": item.category,
        "subcategory": item.subcategory,
        "language": said.language,
        "messages": messages,
        "edited": bool(item.request),
        "reviewed": bool(item.decision),
    }
    if met is not None and not item.request:
        strong, weak = run.config["models"]
        record["answers"] = dict(zip((strong, weak), met.answers, strict=True))
        record["strong"], record["weak"] = strong, weak
    return record


def _datasheet(
    run: JudgeRun,
    items: Sequence[ConstructionItem],
    said: Mapping[int, SourceDialogue],
    per_category: int | None,
) -> dict[str, Any]:
    """What was done, by which rules, and what came of it."""
    dialogues = []
    for item in items:
        *earlier, last = said[item.session_id].whole
        text = item.request or last.text
        dialogues.append((*earlier, type(last)(last.role, text)))
    decided = Counter(item.decision for item in items)
    sorting = child_at(run.pk, "sort")
    config = run.config
    languages = [said[item.session_id].language for item in items]
    return {
        "version": config["version"],
        "source": {
            "dataset": run.dataset.slug,
            "name": run.dataset.name,
            "source": run.dataset.source,
            "licence": run.dataset.licence,
        },
        "run": run.pk,
        "limits": config["limits"],
        "sorter": config["sorter"],
        "embedded_sorter": config["sorter"] == LEXICAL,
        "prompts": {} if sorting is None else sorting.config["judge"].get("prompts", {}),
        "judge": config["judged_by"],
        "embedded_judge": config["judged_by"] == LEXICAL,
        "models": config["models"],
        "seed": config["seed"],
        "per_category": per_category,
        "stages": stage_records(run.pk),
        "reviews": {
            "keep": decided[ReviewDecision.KEEP],
            "edit": decided[ReviewDecision.EDIT],
            "drop": review_counts(run.pk).drop,
            "waiting": decided[""],
        },
        "statistics": statistics(dialogues),
        "distribution": distribution((item.category, item.subcategory) for item in items),
        "languages": dict(sorted(Counter(languages).items())),
    }


def stage_records(run_id: int) -> list[dict[str, Any]]:
    """What each stage kept and dropped, as scripts and datasheets read it."""
    return [
        {
            "stage": each.stage.value,
            "came": each.came,
            "dropped": each.dropped,
            "kept": each.kept,
            "reasons": {reason.value: count for reason, count in each.reasons},
        }
        for each in construction_passages(run_id)
    ]

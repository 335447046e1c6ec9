"""The failure protocol as an ablation of the judge prompt: a run for each judge and prompt.

All judge the same comparisons with a gold winner in both orders, in nobody's stead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.models import Dataset
from benchmark.core.failures import FailureRow, GoldJudgment, failure_row
from benchmark.queries.ablations import GOLD, gold_judgments
from benchmark.queries.annotators import gold_answers
from benchmark.queries.choices import dataset_of
from judging.core.rules import JudgePrompt
from judging.core.targets import RunTarget, Targets
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, RunKind, RunUnit
from judging.queries.comparisons import split_items
from judging.queries.prompts import comparison_references
from judging.services.kinds import plan
from judging.services.run_requests import RunRequest

PROMPTS: Final = "prompts"


def failure_config(
    dataset: Dataset, *, scenario: str, judges: Sequence[str], verdict: VerdictRule
) -> dict[str, Any]:
    """What a run says of it: the scenario, the gold winners and the prompts.

    A reference answer is the data's where every comparison has one. Otherwise the judge writes
    those that are missing in a call before, as in the paper.

    Raises:
        Refused: no comparison with both texts has a gold winner there; replies are to be read by
            letters, before which no judge can think; a judge does not use prompts.
    """
    if verdict is VerdictRule.LOGPROB:
        raise Refused("ablation:needs-words")
    whole = {item.comparison_id for own in split_items(dataset.pk).values() for item in own}
    gold = [
        (comparison, winner, session)
        for comparison, (name, winner, session) in gold_answers(dataset_of(dataset.slug)).items()
        if comparison in whole and winner != Verdict.TIE and scenario in ("", name)
    ]
    if not gold:
        where = f"{dataset.slug}, {scenario}" if scenario else dataset.slug
        raise Refused("ablation:no-gold", f"no gold answer names a winner in {where}")
    references = comparison_references([comparison for comparison, _winner, _session in gold])
    guided = JudgePrompt.REFERENCE if all(references.values()) else JudgePrompt.OWN_REFERENCE
    prompts = (JudgePrompt.PAIRWISE, JudgePrompt.THOUGHT, guided)
    config = {
        "scenario": scenario,
        PROMPTS: [prompt.value for prompt in prompts],
        GOLD: [list(each) for each in gold],  # as JSON gives it back
    }
    for judge in judges:
        judged_by(dataset, judge, prompts[0], config)
    return config


def scenarios_with_gold(dataset: Dataset) -> list[str]:
    """The scenarios in which a gold answer names a winner, in file order."""
    answers = gold_answers(dataset_of(dataset.slug)).values()
    winners = (name for name, winner, _session in answers if winner != Verdict.TIE)
    return [name for name in dict.fromkeys(winners) if name]


def judged_by(
    dataset: Dataset, judge: str, prompt: JudgePrompt, config: Mapping[str, Any]
) -> JudgeRun:
    """The run of one judge and prompt, planned and not saved.

    Raises:
        Refused: there is no such judge, or it does not use prompts.
    """
    (run,) = plan(
        RunRequest(
            kind=RunKind.TEST,
            dataset=dataset,
            judge=judge,
            prompt=prompt,
            with_sets=False,
            verdict=VerdictRule.STRICT,
            targets=Targets(
                kind=RunTarget.ALL, only=tuple(comparison for comparison, *_ in config[GOLD])
            ),
        )
    )
    return run


def prompt_steps(config: Mapping[str, Any]) -> Iterator[tuple[str, JudgePrompt]]:
    """Each judge with each prompt."""
    for judge in config["judges"]:
        for prompt in config[PROMPTS]:
            yield judge, JudgePrompt(prompt)


def prompt_step_name(judge: str, prompt: JudgePrompt) -> str:
    """Name of a judge with a prompt."""
    return f"{prompt.word} · {judge}"


def prompt_units(run: JudgeRun) -> list[RunUnit]:
    """A unit for each judge and prompt; not saved."""
    return [
        RunUnit(
            run=run,
            position=place,
            name=prompt_step_name(judge, prompt)[:200],
            plan={"judge": judge, "prompt": prompt.value},
        )
        for place, (judge, prompt) in enumerate(prompt_steps(run.config))
    ]


def failure_rows(run: JudgeRun, units: Sequence[RunUnit]) -> list[FailureRow]:
    """A row for each unit that is done: those of a judge beside its own default prompt."""
    defaults: dict[str, Sequence[GoldJudgment]] = {}
    rows = []
    for unit in units:
        if unit.child_id is None:
            continue
        judge, prompt = unit.plan["judge"], JudgePrompt(unit.plan["prompt"])
        judged = gold_judgments(unit.child_id, run.config[GOLD])
        row = failure_row(
            judged,
            judge=judge,
            prompt=prompt,
            run=unit.child_id,
            default=defaults.get(judge, ()),
            seed=run.config["seed"],
        )
        rows.append(row)
        if prompt is JudgePrompt.PAIRWISE:
            defaults[judge] = judged
    return rows

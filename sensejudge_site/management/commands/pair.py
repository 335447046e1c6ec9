"""`manage.py pair`: plan comparisons of stored responses, count and price them, and make them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from annotation.core.choices import StudyKind
from annotation.core.pairing import PairingKind, PairingRules, PossiblePair, rules_named
from annotation.core.refusals import Refused
from annotation.core.splits import DEFAULT_SEED
from annotation.core.studies import StudyPlan
from annotation.core.study_items import ItemChoice
from annotation.models import Dataset, PairingPlan, Study
from annotation.queries.pairing import batches_of, plan_by, possible_pairs
from annotation.services.imports.comparisons import sorted_out, too_many
from annotation.services.studies import create_study
from benchmark.queries.ranking import Source
from benchmark.services.pairing import (
    NextBatch,
    Verdicts,
    counts_by_models,
    next_batch,
    price,
)
from benchmark.services.pairing_runs import created_by_run, plan_pairing
from judging.core.estimates import RunEstimate
from judging.queries.generation import families_of_endpoints
from judging.services.kinds import start
from sensejudge_site.management.parsing import OneLineCommand, counted, kin_lines, number_from
from sensejudge_site.management.runs import (
    check_finished,
    dataset_named,
    estimates_told,
    finished_run,
)

_NUMBER = number_from(1, 10_000_000)


class Command(OneLineCommand):
    """Makes the comparisons of a plan; the same plan again makes only what is new."""

    help = (
        "Plans comparisons of the stored responses: all, against an anchor model, a balanced "
        "sample, or adaptively in batches. Counts them, estimates the cost of judging them, and "
        "creates them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares which comparisons, and what becomes of them."""
        parser.add_argument("--dataset", default="", metavar="SLUG")
        parser.add_argument(
            "--plan",
            default="all",
            metavar="all|anchor:MODEL|adaptive|sample:N",
            help="every two models (default), each model with one, the most informative "
            "comparisons in batches, or N balanced over pairs of models and scenarios",
        )
        parser.add_argument(
            "--batch",
            type=_NUMBER,
            metavar="N",
            help="adaptive: comparisons of a batch (default: a tenth of all possible)",
        )
        parser.add_argument(
            "--cap",
            type=number_from(1, 1000),
            default=1,
            metavar="N",
            help="at most N comparisons of two models on one prompt (default 1)",
        )
        parser.add_argument(
            "--seed", type=number_from(0, 2_147_483_647), default=DEFAULT_SEED, metavar="N"
        )
        parser.add_argument("--scenario", action="append", default=[], metavar="NAME")
        parser.add_argument(
            "--model",
            action="append",
            default=[],
            metavar="NAME",
            help="only comparisons with a response by this model; can be repeated, as --scenario",
        )
        parser.add_argument(
            "--both", action="store_true", help="both responses must be by models of --model"
        )
        parser.add_argument(
            "--variants",
            action="store_true",
            help='compare variants of a model too, each as a model "MODEL (VARIANT)" of its own',
        )
        parser.add_argument(
            "--judge",
            default="",
            metavar="lexical|ENDPOINT",
            help="estimate judging with this judge; with --verdicts, whose verdicts count",
        )
        parser.add_argument(
            "--verdicts",
            choices=[each.value for each in Source],
            help="adaptive: go by the human labels, or by the judge under selected preferences or "
            "none (default: human, with --judge base)",
        )
        parser.add_argument(
            "--incomplete",
            action="store_true",
            help="adaptive: create the next batch even if verdicts on the last one are missing",
        )
        parser.add_argument(
            "--study", default="", metavar="NAME", help="create a draft study of the comparisons"
        )
        for name in ("--estimate", "--dry-run"):
            parser.add_argument(
                name, action="store_true", dest="estimate", help="only count and price"
            )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Plans, makes and prints; the status is 2 where there is nothing to compare."""
        dataset = dataset_named(options["dataset"])
        rules, verdicts = _rules(options), _verdicts(options)
        found = next_batch(dataset, rules, verdicts)
        judge = options["judge"]
        for line in kin_lines(families_of_endpoints(dataset.pk, [judge])):
            self.stderr.write(line)
        estimate = price(dataset, found.whole, judge=judge) if judge else None
        plan, whole, created = found.plan, found.whole, found.new
        study = ""
        same = _named(dataset, options["study"])
        if not options["estimate"]:
            if same is not None:
                _check_holds(same, found, rules)
            plan, whole, created = _made(dataset, rules, verdicts, found, self.stderr)
            if options["study"]:
                study = _new_study(dataset, plan, options["study"]) if same is None else same.slug
        fields = {
            "dataset": dataset.slug,
            "plan": None if plan is None else plan.pk,
            "kind": rules.kind.lower(),
            "batch": found.batch if found.added else None,
            "comparisons": len(whole),
            "created": created,
            "existing": len(whole) - created,
            "possible": found.possible,
            "missing": found.missing,
            "pairs": counts_by_models(whole),
            "study": study or None,
            **({} if estimate is None else {"estimate": estimate.to_json()}),
        }
        if options["json"]:
            self.stdout.write(json.dumps(fields, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(fields, found, estimate, dry=options["estimate"])))


def _made(
    dataset: Dataset,
    rules: PairingRules,
    verdicts: Verdicts,
    found: NextBatch,
    stream: OutputWrapper,
) -> tuple[PairingPlan, list[PossiblePair], int]:
    """The plan, all that is in it, and how many were created: by a run, unless nothing is to add.

    Raises:
        Refused: a new plan would be empty; there would be too many at once.
    """
    if refused := too_many(found.new):
        raise refused
    if not found.added:
        if found.plan is None:
            raise Refused("pairing:nothing-left")
        return found.plan, list(found.planned), 0
    run = finished_run(start(plan_pairing(dataset, rules, verdicts)), "pair", stream)
    check_finished([run])
    plan = plan_by(dataset, rules)
    assert plan is not None  # noqa: S101 - the run made it
    _possible, planned = sorted_out(possible_pairs(dataset, rules), batches_of(plan))
    return plan, planned, created_by_run(run)


def _rules(options: dict[str, Any]) -> PairingRules:
    kind, anchor, size = rules_named(options["plan"])
    return PairingRules(
        kind=kind,
        anchor=anchor,
        size=options["batch"] if kind is PairingKind.ADAPTIVE else size,
        cap=options["cap"],
        seed=options["seed"],
        scenarios=tuple(options["scenario"]),
        models=tuple(options["model"]),
        both_models=options["both"],
        variants=options["variants"],
    )


def _verdicts(options: dict[str, Any]) -> Verdicts:
    usual = Source.BASE if options["judge"] else Source.HUMAN
    source = Source(options["verdicts"]) if options["verdicts"] else usual
    return Verdicts(source, options["judge"], options["incomplete"])


def _named(dataset: Dataset, name: str) -> Study | None:
    """The dataset's study of this name or short name."""
    known = Study.objects.filter(dataset=dataset, slug=name) | Study.objects.filter(
        dataset=dataset, name=name
    )
    return known.order_by("pk").first()


def _check_holds(study: Study, found: NextBatch, rules: PairingRules) -> None:
    """Before anything is made: whether a study has what the plan, or its last batch, will hold.

    Raises:
        Refused: it has not.
    """
    shown = found.whole
    if rules.kind is PairingKind.ADAPTIVE:
        batches = batches_of(found.plan)
        last = [pair for pair in shown if batches.get(pair.comparison or 0) == found.batch - 1]
        shown = list(found.added) or last
    held = set(study.items.values_list("comparison", flat=True)) - {None}
    if not {pair.comparison for pair in shown} <= held:
        raise Refused("pairing:other-study")


def _new_study(dataset: Dataset, plan: PairingPlan, name: str) -> str:
    """The short name of a draft study of a plan, or of the last batch of one that adapts."""
    adapts = plan.kind == PairingKind.ADAPTIVE
    batch = max(batches_of(plan).values(), default=None) if adapts else None
    return create_study(
        StudyPlan(
            name=name,
            kind=StudyKind.PAIRWISE,
            dataset=dataset.slug,
            annotators=(),
            overlap=1,
            allow_tie=False,
            allow_strength=False,
            ask_hallucination=False,
            guidelines="",
            items=ItemChoice(plan=plan.pk, batch=batch),
        ),
        by=None,
    )


def _lines(
    fields: dict[str, Any], found: NextBatch, estimate: RunEstimate | None, *, dry: bool
) -> list[str]:
    named = "a new plan" if fields["plan"] is None else f"plan {fields['plan']}"
    made = "to create" if dry else "created"
    lines = [
        f"{named}: {counted(fields['comparisons'], 'comparison')} of {found.possible:,} possible, "
        f"{fields['created']:,} {made}",
        *(
            f"  {row['model_a']} | {row['model_b']}: {row['comparisons']:,}"
            for row in fields["pairs"]
        ),
    ]
    if found.missing:
        lines.append(
            f"{found.missing:,} of {counted(found.last, 'comparison')} of the last batch have no "
            "verdict yet: the next batch follows once they do, or with --incomplete"
        )
    if fields["study"]:
        lines.append(f"study: {fields['study']}")
    if estimate is not None:
        lines.append(estimates_told([replace(estimate, annotator="all")], json_wanted=False))
    return lines

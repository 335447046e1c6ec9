"""A small study with stored verdicts: what trust pages, reports and leaderboards are read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.core.choices import Verdict
from annotation.models import Comparison, Dataset, Scenario, User
from judging.core.runs import AppliedPlan, DistilPlan
from judging.models import (
    Control,
    JudgeRun,
    Judgment,
    Preference,
    PreferenceKind,
    PreferenceSet,
    RunKind,
    RunStatus,
)
from judging.queries.configurations import as_json
from tests.factory import (
    make_comparison,
    make_dataset,
    make_label,
    make_preference,
    make_rater,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
)

BOTH = ("ORIGINAL", "SWAPPED")
VERDICTS = {"A": "A", "B": "B", "T": "TIE"}


def empty_preference() -> Preference:
    return Preference.objects.get_or_create(
        kind=PreferenceKind.EMPTY, defaults={"text": "", "status": "DONE"}
    )[0]


@dataclass
class Stage:
    """A dataset with comparisons of models `alpha` (always A) and `beta`, and its raters."""

    dataset: Dataset
    scenarios: list[Scenario]
    comparisons: dict[str, list[Comparison]] = field(default_factory=dict)

    @classmethod
    def make(
        cls, *, scenarios: Sequence[str] = ("Writing",), size: int = 4, **fields: Any
    ) -> Stage:
        dataset = make_dataset(**{"slug": "study", "name": "Study", **fields})
        stage = cls(
            dataset,
            [
                make_scenario(dataset, name=name, position=place)
                for place, name in enumerate(scenarios)
            ],
        )
        for scenario in stage.scenarios:
            stage.comparisons[scenario.name] = [stage._comparison(scenario) for _ in range(size)]
        return stage

    def _comparison(self, scenario: Scenario) -> Comparison:
        turn = make_turn(make_session(scenario), user_message="Write a note to my landlord.")
        return make_comparison(
            turn,
            response_a=make_response(turn, model="alpha", text="Short."),
            response_b=make_response(turn, model="beta", text="A longer one."),
        )

    def rater(self, name: str) -> User:
        return make_rater(self.dataset, name)

    def label(self, rater: User, verdicts: str, *, shown: str | None = None) -> None:
        """Labels of a rater, a letter a comparison (`T` a tie, `.` none), scenario by scenario."""
        for comparison, letter in zip(self._all(), verdicts, strict=True):
            if letter != ".":
                make_label(
                    comparison,
                    annotator=rater,
                    verdict=VERDICTS[letter],
                    shown_order=shown,
                )

    def _all(self) -> Iterable[Comparison]:
        return (each for scenario in self.scenarios for each in self.comparisons[scenario.name])

    def distilled(self, rater: User, **fields: Any) -> JudgeRun:
        """A finished distillation with a selected set of one preference in every scenario."""
        run = make_run(
            self.dataset,
            kind=RunKind.DISTIL,
            annotator=rater,
            status=RunStatus.DONE,
            config={"scenarios": [self._distil_plan(rater, each) for each in self.scenarios]},
            **fields,
        )
        for scenario in self.scenarios:
            for control in (Control.NONE, Control.SHUFFLED):
                self._set(run, rater, scenario, control)
        return run

    def _distil_plan(self, rater: User, scenario: Scenario) -> dict[str, Any]:
        """The first comparison is the dev part."""
        dev, *test = self.comparisons[scenario.name]
        plan = DistilPlan(
            scenario_id=scenario.pk,
            scenario=scenario.name,
            dev=(dev.pk,),
            winners=self._winners(rater, [dev]),
            shuffled=(),
            dev_ties=0,
            test_winners=self._winners(rater, test),
            test_ties=0,
        )
        stored: dict[str, Any] = as_json(plan)
        return stored

    def _set(self, run: JudgeRun, rater: User, scenario: Scenario, control: Control) -> None:
        text = f"{rater.display_name} prefers {scenario.name.lower()} {control.lower()}."
        preference = make_preference(
            run=run, scenario=scenario, control=control, annotator=rater, text=text, position=1
        )
        dev = self.comparisons[scenario.name][0]
        row = PreferenceSet.objects.create(
            run=run,
            dataset=self.dataset,
            scenario=scenario,
            annotator=rater,
            control=control,
            columns=[empty_preference().pk, preference.pk],
            rows=[dev.pk],
            matrix={"matrix_original": [[0, 1]], "matrix_swapped": [[None, 1]]},
            selection={"selected": [[1]], "flips": 2, "exact": True},
            dev_accuracy=1.0,
            leave_one_out=0.5,
            null_p95=1.0,
            p_value=0.25,
        )
        row.members.set([preference])

    def tested(
        self,
        rater: User,
        parent: JudgeRun | None,
        *,
        base: str,
        selected: str = "",
        shuffled: str = "",
        stack: str = "",
        sets_of: User | None = None,
        **fields: Any,
    ) -> JudgeRun:
        """A test run; decisions are letters as in `label`, `?` an unreadable reply, alike in both
        orders, lower case: in the original order alone."""
        sets = {
            (one.scenario_id, one.control): one for one in PreferenceSet.objects.filter(run=parent)
        }
        given = {"base": base, "selected": selected, "shuffled": shuffled, "stack": stack}
        plans, cells = [], []
        place = 0
        for scenario in self.scenarios:
            own = self.comparisons[scenario.name]
            part = {name: letters[place : place + len(own)] for name, letters in given.items()}
            place += len(own)
            members = {
                "base": [empty_preference().pk],
                "selected": self._members(sets.get((scenario.pk, Control.NONE))),
                "shuffled": self._members(sets.get((scenario.pk, Control.SHUFFLED))),
                "stack": [self._stack(sets[scenario.pk, Control.NONE]).pk] if stack else [],
            }
            winners = self._winners(rater, own)
            plans.append(
                as_json(
                    AppliedPlan(
                        scenario_id=scenario.pk,
                        scenario=scenario.name,
                        winners=winners,
                        ties=0,
                        base=members["base"][0],
                        selected=tuple(members["selected"]) if parent else None,
                        shuffled=tuple(members["shuffled"]) if parent else None,
                        stack=members["stack"][0] if stack else None,
                        shuffled_votes=bool(stack),
                    )
                )
            )
            cells += [
                (comparison, preference, letter)
                for name, letters in part.items()
                for preference in members[name]
                for comparison, letter in zip(own, letters, strict=False)
                if letter != "." and comparison.pk in dict(winners)
            ]
        owner = sets_of or rater
        run = make_run(
            self.dataset,
            annotator=rater,
            parent=parent,
            config={"sets_of": owner.username if parent else None, "scenarios": plans},
            **{"status": RunStatus.DONE, **fields},
        )
        Judgment.objects.bulk_create(
            judgment
            for comparison, preference, letter in cells
            for judgment in _judgments(run, comparison, preference, letter)
        )
        return run

    @staticmethod
    def _stack(row: PreferenceSet) -> Preference:
        row.stack = row.stack or make_preference(
            run=row.run,
            scenario=row.scenario,
            annotator=row.annotator,
            kind=PreferenceKind.STACK,
            text="Base judge .4, concise .6",
            position=2,
        )
        row.save()
        return row.stack

    @staticmethod
    def _members(row: PreferenceSet | None) -> list[int]:
        return [] if row is None else [member.pk for member in row.members.all()]

    @staticmethod
    def _winners(rater: User, own: Sequence[Comparison]) -> tuple[tuple[int, Verdict], ...]:
        verdicts = dict(rater.pairwiselabels.values_list("comparison_id", "verdict"))
        return tuple(
            (each.pk, Verdict(verdicts[each.pk]))
            for each in own
            if verdicts.get(each.pk) in {"A", "B"}
        )


def _judgments(
    run: JudgeRun, comparison: Comparison, preference: int, letter: str
) -> Iterable[Judgment]:
    for order in BOTH[:1] if letter.islower() else BOTH:
        if letter == "?":
            state = {"status": "UNPARSEABLE", "error_code": "verdict:unparseable", "raw": "Hm."}
        elif letter == "-":
            state = {"status": "PENDING"}
        else:
            state = {"status": "DONE", "verdict": VERDICTS[letter.upper()], "raw": "because"}
        yield Judgment(
            run=run, comparison=comparison, preference_id=preference, order=order, **state
        )

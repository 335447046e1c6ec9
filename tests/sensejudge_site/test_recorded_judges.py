"""What the command prints; the golden figures are those of the public recorded files."""

from __future__ import annotations

import io
import json
from itertools import combinations

import pytest
from django.core.management import CommandError, call_command
from sklearn.metrics import cohen_kappa_score

from annotation.models import User
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import give_gold, record
from tests.factory import make_dataset
from tests.paths import shared_data

pytestmark = pytest.mark.django_db


def figures(*arguments):
    out = io.StringIO()
    call_command("recorded_judges", *arguments, stdout=out)
    return out.getvalue()


def imported(name, dataset):
    call_command("import_records", shared_data(name), dataset=dataset, stdout=io.StringIO())


def study():
    stage = Stage.make(size=4)
    for name, letters in (("expert_1", "AABB"), ("expert_2", "AABA"), ("author_1", "BBBT")):
        stage.label(stage.rater(name), letters)
    give_gold(stage, "AABB")
    record(stage, "gpt-4", "AAB?", "AABA")
    return stage


def test_the_fields_that_scripts_read():
    study()
    printed = figures("--dataset", "study", "--people", "expert", "--json")
    found = json.loads(printed)
    assert printed.count("\n") == 1
    assert (found["dataset"], found["people"], found["seed"]) == ("study", "expert", 42)
    [judge] = found["judges"]
    assert {name: judge[name] for name in judge if name != "run"} == {
        "judge": "gpt-4",
        "recorded": True,
        "edited": False,
        "comparisons": 4,
        "replies": 8,
        "unreadable": 1,
        "accuracy": 6 / 8,
        "same_in_both_orders": 3 / 4,
        "picks_first": 3 / 8,  # A, A shown first; B, shown first in the swapped order
    }
    assert [
        (row["turn"], row["ties"], row["judge_agree"], row["judge_pairs"], row["people_agree"])
        for row in found["agreement"]
    ] == [(1, True, 6, 6, 3), (1, False, 6, 6, 3)]
    assert [row["scenario"] for row in found["agreement_by_scenario"]] == ["Writing", "Writing"]
    # alpha wins 5.5 of 12 votes, the third person's tie half: A A, A A; B B and B A; B B B tie.
    [pair] = found["agreement_by_gap"]
    assert (pair["first"], pair["second"], pair["gap"]) == ("beta", "alpha", pytest.approx(1 / 12))
    assert (pair["judge_agree"], pair["judge_pairs"], pair["ties"]) == (6, 6, False)
    assert [(pair["first"], pair["second"], pair["items"]) for pair in found["annotators"]] == [
        ("expert_1", "expert_2", 4)
    ]


def test_readers_get_lines():
    study()
    printed = figures("--dataset", "study")
    assert "gpt-4 and all people, then people with each other" in printed
    assert "Cohen's kappa of annotators, ties a category" in printed
    assert "expert_1, expert_2: 0.500" in printed
    assert "by the difference in win rate of two models" in printed
    assert "(" not in printed.split("beta, alpha")[0].splitlines()[-1]  # too few sessions


def test_live_judges_say_so_and_can_be_left_out():
    stage = study()
    ann = User.objects.get(username="study:expert_1")
    stage.tested(ann, stage.distilled(ann), base="AAAA", selected="AABB")
    found = json.loads(figures("--dataset", "study", "--json"))
    assert sorted((row["judge"], row["recorded"]) for row in found["judges"]) == [
        ("gpt-4", True),
        ("lexical", False),
        ("lexical", False),
    ]
    assert {(row["judge"], row["recorded"]) for row in found["agreement"]} == {
        ("gpt-4", True),
        ("lexical", False),
    }
    printed = figures("--dataset", "study")
    assert "lexical with preferences for expert_1 (live)" in printed
    assert "lexical for expert_1 (live) and all people" in printed
    alone = json.loads(figures("--dataset", "study", "--recorded-only", "--json"))
    told = {row["judge"] for row in (*alone["judges"], *alone["agreement"])}
    assert told == {"gpt-4"}


def test_many_pairs_are_cut_for_readers():
    stage = Stage.make(size=2)
    for number in range(6):
        stage.label(stage.rater(f"rater_{number}"), "AB")
    assert "... and 3 more pairs" in figures("--dataset", "study")


def test_a_judge_without_people_has_no_agreement():
    stage = Stage.make(size=1)
    give_gold(stage, "A")
    record(stage, "gpt-4", "A")
    found = json.loads(figures("--dataset", "study", "--json"))
    assert (len(found["judges"]), found["agreement"], found["annotators"]) == (1, [], [])
    assert "and all people" not in figures("--dataset", "study")


def test_without_anything_it_says_so():
    make_dataset(slug="empty")
    assert figures("--dataset", "empty").startswith("no gold answer was judged")


@pytest.mark.parametrize(
    "arguments", [("--dataset", "nope"), ("--dataset", "study", "--people", "nope")]
)
def test_what_is_not_there_is_said(arguments):
    study()
    with pytest.raises(CommandError) as refused:
        figures(*arguments)
    assert refused.value.returncode == 2


def test_llmbar_has_its_vanilla_rows():
    """Protocols part D. 419 pairs in five subsets, two orders: 838 replies a judge.

    Derived from the file by counting: replies whose winner is the label; pairs whose two winners
    are equal (null twice is equal); winner 1 with output 1 first or 2 with output 2 first; null.

    The printed row of LLaMA2 says .559 where 468 of 838 is .55847: it was rounded twice. By order
    it names the first 214 and 254 times of 419, .511 and .606, whose mean is .5585. Leaving out its
    two invalid replies gives 468 of 836, .560; no count of the file gives .559.
    """
    imported("llmbar_vanilla.jsonl", "llmbar")
    found = json.loads(figures("--dataset", "llmbar", "--json"))
    assert {
        row["judge"]: (
            round(row["accuracy"] * 838),
            round(row["same_in_both_orders"] * 419),
            round(row["picks_first"] * 838),
            row["unreadable"],
        )
        for row in found["judges"]
    } == {
        "GPT-4": (708, 389, 429, 0),
        "PaLM2": (585, 304, 466, 8),
        "Falcon": (473, 174, 650, 0),
        "LLaMA2": (370, 314, 468, 2),
        "ChatGPT": (335, 276, 542, 0),
        "ChatGPT-0301": (403, 242, 562, 0),
    }
    printed = {
        "GPT-4": (0.845, 0.928, 0.512),
        "PaLM2": (0.698, 0.726, 0.556),
        "Falcon": (0.564, 0.415, 0.776),
        "LLaMA2": (0.442, 0.749, 0.5585),
        "ChatGPT": (0.400, 0.659, 0.647),
    }
    by_order = [round(214 / 419, 3), round(254 / 419, 3)]
    assert sum(by_order) / 2 == pytest.approx(0.5585)
    assert (round(468 / 838, 3), round(468 / 836, 3)) == (0.558, 0.560)
    for row in found["judges"]:
        if row["judge"] in printed:
            told = (row["accuracy"], row["same_in_both_orders"], row["picks_first"])
            assert told == pytest.approx(printed[row["judge"]], abs=0.0005)


def test_mt_bench_has_its_eight_fractions():
    """Protocols part D, FastChat's rule: people are expert_N; a tie equals any tie."""
    for name in ("question", "votes_human", "votes_gpt4_pair"):
        imported(f"mtbench_{name}.jsonl", "mtbench")
    found = json.loads(figures("--dataset", "mtbench", "--people", "expert", "--json"))
    assert [
        (row["judge_agree"], row["judge_pairs"], row["people_agree"], row["people_pairs"])
        for row in found["agreement"]
    ] == [
        (886, 1343, 454, 721),
        (727, 859, 388, 479),
        (871, 1325, 471, 707),
        (731, 864, 388, 474),
    ]
    assert [
        (row["first"], row["second"], round(row["gap"], 3), *counts(row))
        for row in found["agreement_by_gap"]
    ] == BY_GAP
    assert {
        (row["scenario"], row["ties"]): counts(row) for row in found["agreement_by_scenario"]
    } == {
        **{(name, True): told for name, (told, _without) in BY_CATEGORY.items()},
        **{(name, False): told for name, (_with, told) in BY_CATEGORY.items()},
    }


def counts(row):
    names = ("judge_agree", "judge_pairs", "people_agree", "people_pairs")
    return tuple(row[name] for name in names)


BY_GAP = [
    ("gpt-3.5-turbo", "claude-v1", 0.002, 55, 81, 41, 52),
    ("gpt-4", "gpt-3.5-turbo", 0.081, 84, 119, 44, 61),
    ("gpt-4", "claude-v1", 0.082, 65, 101, 48, 65),
    ("alpaca-13b", "llama-13b", 0.133, 65, 77, 27, 38),
    ("claude-v1", "vicuna-13b-v1.2", 0.170, 63, 80, 26, 38),
    ("gpt-3.5-turbo", "vicuna-13b-v1.2", 0.172, 83, 107, 63, 90),
    ("vicuna-13b-v1.2", "alpaca-13b", 0.193, 83, 112, 40, 64),
    ("gpt-4", "vicuna-13b-v1.2", 0.253, 85, 104, 28, 36),
    ("vicuna-13b-v1.2", "llama-13b", 0.326, 106, 112, 75, 80),
    ("claude-v1", "alpaca-13b", 0.363, 98, 101, 42, 45),
    ("gpt-3.5-turbo", "alpaca-13b", 0.365, 126, 147, 73, 88),
    ("gpt-4", "alpaca-13b", 0.446, 117, 126, 46, 50),
    ("claude-v1", "llama-13b", 0.496, 144, 154, 75, 84),
    ("gpt-3.5-turbo", "llama-13b", 0.498, 131, 139, 64, 66),
    ("gpt-4", "llama-13b", 0.579, 153, 163, 84, 96),
]
"""Non-tied votes on each two models, counted from the files by a script of plain Python."""
BY_CATEGORY = {
    "writing": ((185, 312, 85, 159), (173, 242, 82, 116)),
    "roleplay": ((230, 358, 104, 178), (221, 279, 101, 147)),
    "reasoning": ((226, 354, 135, 203), (122, 132, 65, 76)),
    "math": ((205, 328, 134, 188), (125, 133, 105, 111)),
    "coding": ((197, 324, 126, 179), (155, 181, 105, 114)),
    "extraction": ((220, 310, 98, 144), (192, 211, 81, 91)),
    "stem": ((235, 327, 100, 150), (227, 260, 97, 121)),
    "humanities": ((259, 355, 143, 227), (243, 285, 140, 177)),
}
"""With ties and without, likewise; the categories of a column add up to both turns."""


def test_pandalm_has_the_kappas_of_scikit_learn():
    imported("pandalm_testset_dev.json", "pandalm")
    found = json.loads(figures("--dataset", "pandalm", "--json"))
    rows = json.loads(shared_data("pandalm_testset_dev.json").read_text("utf-8"))
    names = ("annotator1", "annotator2", "annotator3")
    expected = {
        pair: cohen_kappa_score(*([row[name] for row in rows] for name in pair))
        for pair in combinations(names, 2)
    }
    told = {(row["first"], row["second"]): row["kappa"] for row in found["annotators"]}
    assert told == pytest.approx(expected)
    assert {pair: round(kappa, 3) for pair, kappa in told.items()} == {
        ("annotator1", "annotator2"): 0.870,
        ("annotator1", "annotator3"): 0.897,
        ("annotator2", "annotator3"): 0.885,
    }


def test_mt_bench_rates_the_models_as_published():
    """Protocols part D: Bradley-Terry on the 2,400 verdicts of GPT-4, inconsistent ones ties."""
    for name in ("question", "votes_gpt4_pair"):
        imported(f"mtbench_{name}.jsonl", "mtbench")
    out = io.StringIO()
    arguments = {"dataset": "mtbench", "verdicts": "base", "bootstrap": 2, "json": True}
    call_command("leaderboard", stdout=out, **arguments)
    ratings = {row["model"]: row["rating"] for row in json.loads(out.getvalue())["models"]}
    assert ratings == pytest.approx(
        {
            "gpt-4": 1314.50,
            "claude-v1": 1171.87,
            "gpt-3.5-turbo": 1091.37,
            "vicuna-13b-v1.2": 970.36,
            "alpaca-13b": 786.35,
            "llama-13b": 665.55,
        },
        abs=0.01,
    )

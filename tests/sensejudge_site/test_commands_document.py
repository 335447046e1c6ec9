"""docs/commands.md says what the commands take and what they print, and nothing else."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import nullcontext
from functools import partial

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from annotation.models import Comparison, Dataset, GoldLabel, PairwiseLabel
from benchmark.models import Snapshot
from judging.core.rules import Variant
from judging.models import SatisfactionJudgment
from sensejudge_site import benches
from tests.annotation.core.formats.rows import write_lines
from tests.annotation.records import pair, write
from tests.benchmark.construction import make_raw
from tests.benchmark.pairing import make_answers
from tests.benchmark.replays import make_stored
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.benchmark.test_views_best_of import judged
from tests.benchmark.test_views_best_of import rows as best_of_rows
from tests.benchmark.test_views_grades import study as graded
from tests.benchmark.test_views_leaderboard_annotators import study as three_models
from tests.benchmark.test_views_model_satisfaction import ratings, scored
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_rater,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_llm import Act, FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import make_study
from tests.sensejudge_site import test_leaderboard, test_recorded_judges, test_report
from tests.sensejudge_site.command_document import (
    Fields,
    Items,
    differences,
    examples,
    options,
    printed,
    sections,
)
from tests.sensejudge_site.test_batch_files import provider
from tests.sensejudge_site.test_command_llm_check import PANDALM
from tests.sensejudge_site.test_select_preferences import MATRIX
from tests.sensejudge_site.test_split_users import conversation

pytestmark = pytest.mark.django_db

OURS = {"annotation", "judging", "benchmark", "sensejudge_site"}
COMMANDS = sorted(name for name, app in get_commands().items() if app in OURS)
TOGETHER = "estimates"  # what three commands print alike
SECTIONS = sections()


def command_of(name):
    return load_command_class(get_commands()[name], name)


def parser_of(command):
    return command.create_parser("manage.py", "name")


def actions(name):
    """What the command takes beyond what Django's own command takes, by option or word."""
    command = command_of(name)
    above = next(each for each in type(command).__mro__ if each.__module__.startswith("django."))
    inherited = {action.dest for action in parser_of(above())._actions}
    own = (each for each in parser_of(command)._actions if each.dest not in inherited)
    return {(each.option_strings or [each.metavar])[0]: each for each in own}


def test_every_command_has_a_section():
    assert sorted(SECTIONS) == sorted([*COMMANDS, TOGETHER])


@pytest.mark.parametrize("name", COMMANDS)
def test_its_options_are_those_of_the_parser(name):
    assert sorted(options(SECTIONS[name])) == sorted(actions(name).keys() - {"--json"})


@pytest.mark.parametrize("name", COMMANDS)
def test_values_choices_and_defaults_are_those_of_the_parser(name):
    for word, told in options(SECTIONS[name]).items():
        action = actions(name)[word]
        assert bool(told.value) == (bool(action.option_strings) and action.nargs != 0), word
        if action.choices:
            named = told.value.split("|") if told.value else told.words
            assert sorted(named) == sorted(action.choices), word
        if action.required:
            assert told.default == "required", word
        elif isinstance(action.default, list):
            assert told.default == " ".join(map(str, action.default)), word
        elif action.default in (None, False, ""):
            assert told.default in {"", "required"}, word
        else:
            assert told.default == str(action.default), word


@pytest.mark.parametrize(
    "command",
    [
        ["ablate", "--vary", "window"],
        ["distil"],
        ["judge"],
        ["generate", "--models", "m"],
        ["score_turns"],
    ],
)
def test_what_is_required_though_the_parser_lets_it_pass(command):
    assert options(SECTIONS[command[0]])["--dataset"].default == "required"
    with pytest.raises(CommandError, match="--dataset is required") as refused:
        call_command(*command)
    assert refused.value.returncode == 2


@pytest.mark.parametrize("name", SECTIONS)
def test_its_examples_are_understood(name):
    lines = [shlex.split(line) for line in examples(SECTIONS[name])]
    assert lines
    assert name == TOGETHER or name in {line[0] for line in lines}
    for command, *words in lines:
        parser_of(command_of(command)).parse_args(words)


def test_names_that_no_parser_lists_are_all_told():
    assert set(benches.names()) <= set(options(SECTIONS["bench"])["NAME"].words)
    ways = options(SECTIONS["evaluate_satisfaction"])["--evaluators"].words
    assert {each.word for each in Variant} <= set(ways)


def run(name, *words, ends=nullcontext):
    """The one object that a command prints."""
    out = io.StringIO()
    with ends():
        call_command(name, *map(str, words), "--json", stdout=out, stderr=io.StringIO())
    assert out.getvalue().count("\n") == 1
    return json.loads(out.getvalue())


def ablate(_folder):
    dataset, _ = make_study(comparisons=12)
    return [run("ablate", "--dataset", dataset.slug, "--vary", "subset-size")]


def ablate_prompts(_folder):
    dataset, _ = make_study(comparisons=2)
    for comparison in Comparison.objects.all():
        GoldLabel.objects.create(comparison=comparison, verdict="A", source="DATASET")
    with FakeLlm(rule="longer") as server:
        make_endpoint(name="fake", base_url=server.base_url)
        asked = ("--dataset", dataset.slug, "--judge", "fake", "--vary", "prompt")
        return [run("ablate", *asked)]


def bench(_folder):
    return [run("bench", "select")]


def by_file(folder, name, *words, dataset=None, judge="--judge"):
    """What a command prints that asks by itself, and one that takes a batch file for each step."""
    dataset = dataset or make_study(comparisons=6)[0]
    asked = (name, "--dataset", dataset.slug, *words)
    with FakeLlm(rule="longer") as server:
        make_endpoint(name="fake", base_url=server.base_url)
        requests, replies = folder / "out.jsonl", folder / "in.jsonl"
        found = [run(*asked, judge, "fake", "--batch-out", requests)]
        while found[-1]["waiting"]:
            provider(requests, replies, server)
            found.append(run(*asked, judge, "fake", "--batch-in", replies))
            if found[-1]["waiting"]:
                found.append(run(*asked, judge, "fake", "--batch-out", requests))
    return [run(*asked), *found]


def construct(_folder):
    make_raw()
    words = ("construct", "--source", "raw", "--to", "bench-1")
    return [run(*words), run(*words, "--freeze")]


def distil(folder):
    return by_file(folder, "distil", "--dev", 2)


def judge(folder):
    return by_file(folder, "judge", "--judge", "lexical", "--preferences", "none")


def generate(folder):
    dataset = make_dataset()
    make_turn(make_session(make_scenario(dataset)))
    asked = ("generate", "--dataset", dataset.slug, "--models", "fake")
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        requests, replies = folder / "out.jsonl", folder / "in.jsonl"
        found = [run(*asked, "--batch-out", requests)]
        provider(requests, replies, server)
        found.append(run(*asked, "--batch-in", replies))
        server.told = {"?": Act(status=400)}
        failed = run(*asked, "--max-tokens", 7, ends=partial(pytest.raises, CommandError))
        server.told = {}
        found += [failed, run("generate", "--retry", *failed["runs"]), run(*asked)]
    assert [one["generated"] for one in found] == [0, 1, 0, 1, 1]
    assert [one["responses"] for one in found] == [0, 1, 0, 0, 0]
    assert [one["calls"] for one in found] == [0, 1, 0, 1, 0]
    return found


def estimates(_folder):
    dataset, _ = make_study()
    asked = ("--dataset", dataset.slug, "--estimate")
    return [
        run("distil", *asked),
        run("judge", *asked, "--judge", "lexical", "--preferences", "none"),
        run("ablate", *asked, "--vary", "subset-size"),
    ]


def evaluate_satisfaction(_folder):
    ten = [f"user {number}" for number in range(10)]  # fewer have no intervals
    make_rated_dataset("train", users=ten)
    test = make_rated_dataset("test", users=ten)
    alone = make_response(make_turn(make_session(test.scenarios.first())), original=True)
    make_rating(alone, annotator=make_rater(test, "new"), score=4)  # to whom no turn is near
    asked = ("evaluate_satisfaction", "--train", "train", "--test", "test", "--bootstrap", 20)
    curve = ("--learning-curve", "--curve-users", "4", "--curve-draws", 1)
    return [run(*asked, "--evaluators", "history_mean,nearest_1,learned", *curve)]


def import_records(folder):
    good = write(folder / "good.jsonl", [pair()])
    bad = write(folder / "bad.jsonl", [pair(verdict="C")])
    mixed = write(folder / "mixed.jsonl", [pair(), pair(verdict="C")])
    refused = partial(pytest.raises, CommandError)
    return [
        run("import_records", good, "--dataset", "data"),
        run("import_records", mixed, "--dataset", "mixed", "--skip-errors"),
        run("import_records", bad, "--dataset", "data", ends=refused),
    ]


def inspect_file(folder):
    rows = [pair(gold="A"), pair(verdict="C")]
    return [run("inspect_file", write(folder / "rows.jsonl", rows))]


def injection_check(_folder):
    return [run("injection_check")]


def injection_check_repetition(_folder):
    dataset = make_dataset()
    turn = make_turn(make_session(make_scenario(dataset)))
    for number in range(10):
        make_response(turn, text=f"- {number}\n- b\n- c")
    return [run("injection_check", "--attack", "repetition", "--dataset", dataset.slug)]


def leaderboard(folder):
    won = {"model_a": "x", "model_b": "y"}
    fought = [{**won, "winner": winner} for winner in ("model_a", "model_b")]
    path = write_lines(folder / "battles.jsonl", *fought)
    pairs = [("x", "y"), ("y", "z"), ("z", "x")]
    wins = [{"model_a": a, "model_b": b, "winner": "model_a"} for a, b in pairs * 5]
    trio = write_lines(folder / "trio.jsonl", *wins)
    reference = folder / "reference.json"
    reference.write_text(json.dumps({"x": 3, "y": 2, "z": 1}))
    test_leaderboard.study()
    return [
        run("leaderboard", "--battles", path, "--bootstrap", 20),
        run("leaderboard", "--battles", trio, "--reference", reference),
        run("leaderboard", "--dataset", "study", "--style", "--bootstrap", 20),
    ]


def verify(_folder):
    test_leaderboard.study()
    run("leaderboard", "--dataset", "study", "--bootstrap", 20, "--snapshot")
    number = Snapshot.objects.get().pk
    equal = run("verify", "--snapshot", number)
    PairwiseLabel.objects.filter(verdict="A").first().delete()
    return [equal, run("verify", "--snapshot", number, ends=partial(pytest.raises, CommandError))]


def leaderboard_corrected(_folder):
    test_leaderboard.study()
    return [run("leaderboard", "--dataset", "study", "--corrected", "--bootstrap", 20)]


def leaderboard_grades(_folder):
    graded()
    return [run("leaderboard", "--dataset", "study", "--grades")]


def leaderboard_between_annotators(_folder):
    three_models()
    return [run("leaderboard", "--dataset", "study", "--between-annotators")]


def llm_check(folder):
    (folder / "pairs.json").write_text(json.dumps(PANDALM))
    with FakeLlm() as server:
        asked = ("--base-url", server.base_url, "--model", "m", "--file", folder / "pairs.json")
        return [run("llm_check", *asked)]


def pair_responses(_folder):
    dataset = make_answers(turns=1)
    words = ("pair", "--dataset", dataset.slug, "--plan", "sample:2")
    return [run(*words), run(*words, "--judge", "lexical", "--study", "Pilot")]


def recorded_judges(_folder):
    test_recorded_judges.study()
    return [run("recorded_judges", "--dataset", "study")]


def replay(_folder):
    dataset = make_ratings(people=2, turns=2)
    make_stored(dataset)
    words = ("replay", "--dataset", dataset.slug, "--evaluator", "lexical", "--candidates")
    with FakeLlm(faults={"401": 1.0}) as server:
        make_endpoint(name="broken", base_url=server.base_url)
        broken = run(*words, "broken,long", ends=partial(pytest.raises, CommandError))
    return [run(*words, "long,copy"), broken]


def report(_folder):
    stage = test_report.study()
    rater = stage.rater("rater")
    scored = make_run(stage.dataset, kind="SATISFACTION", status="DONE")
    for score, comparison in enumerate(stage.comparisons["Code"], start=1):
        response = comparison.response_a
        reason = "OTHER" if score < 4 else None
        make_rating(response, annotator=rater, score=score, reason=reason)
        SatisfactionJudgment.objects.create(
            run=scored, user=rater, response=response, status="DONE", score=score
        )
    return [run("report", "--dataset", "study")]


def report_gold(folder):
    path = write_lines(folder / "best_of.jsonl", *best_of_rows())
    call_command("import_records", path, dataset="best", stdout=io.StringIO())
    judged(Dataset.objects.get(slug="best"))
    return [run("report", "--dataset", "best", "--gold")]


def satisfaction_board(_folder):
    scored(ratings())
    words = ("satisfaction_board", "--dataset", "talks")
    return [run(*words), run(*words, "--voice", "corrected")]


def score_turns(folder):
    dataset = make_ratings(people=2)
    return by_file(folder, "score_turns", "--targets", "all", dataset=dataset, judge="--evaluator")


def select_preferences(folder):
    (folder / "matrix.json").write_text(json.dumps(MATRIX))
    return [run("select_preferences", "--matrix", folder / "matrix.json")]


def split_users(folder):
    talks = [conversation(f"User_{number}", topic) for number in range(5) for topic in "ab"]
    path = write(folder / "talks.jsonl", talks)
    out = io.StringIO()
    call_command("split_users", path, stdout=out)
    return [json.loads(out.getvalue())]


PRINTED = {
    **{
        (each.__name__, "--json"): each
        for each in (
            ablate,
            bench,
            construct,
            distil,
            evaluate_satisfaction,
            generate,
            import_records,
            inspect_file,
            injection_check,
            judge,
            leaderboard,
            llm_check,
            recorded_judges,
            replay,
            report,
            satisfaction_board,
            score_turns,
            select_preferences,
            verify,
        )
    },
    (TOGETHER, "--estimate --json"): estimates,
    ("ablate", "--vary prompt --json"): ablate_prompts,
    ("injection_check", "--attack repetition --json"): injection_check_repetition,
    ("leaderboard", "--corrected --json"): leaderboard_corrected,
    ("leaderboard", "--grades --json"): leaderboard_grades,
    ("leaderboard", "--between-annotators --json"): leaderboard_between_annotators,
    ("pair", "--json"): pair_responses,
    ("report", "--gold --json"): report_gold,
    ("split_users", "--out"): split_users,
}
TOLD = {(name, how): shape for name in SECTIONS for how, shape in printed(SECTIONS[name])}


def test_all_that_is_printed_is_told():
    assert sorted(TOLD) == sorted(PRINTED)
    assert {name for name in COMMANDS if "--json" in actions(name)} == {
        name for name, how in TOLD if how == "--json"
    }


@pytest.mark.parametrize(("name", "how"), sorted(PRINTED))
def test_the_fields_are_those_that_are_printed(name, how, tmp_path):
    assert list(differences(TOLD[name, how], PRINTED[name, how](tmp_path))) == []


def test_what_differs_is_found():
    shape = Fields({"a": None, "b": Items(Fields({"c": None}, frozenset()))}, frozenset({"a"}))
    assert list(differences(shape, [{"a": 1, "b": [{"c": 1}]}, {"b": []}])) == []
    assert list(differences(shape, [{"a": [], "b": [], "d": 1}])) == [
        ".d: not documented",
        ".a: always there",
        ".a: no plain value",
        ".b: never met",
    ]

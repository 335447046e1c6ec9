from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest

from annotation.models import GoldLabel
from judging.models import Judgment, RunKind
from tests.benchmark.stage import Stage, empty_preference
from tests.factory import make_run, make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db

GOLD, ROWS, CSV = "/trust/gold/", "/trust/gold/rows/", "/trust/gold.csv"
VERDICTS = {"A": "A", "B": "B", "T": "TIE"}


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def comparisons(stage):
    return [each for scenario in stage.scenarios for each in stage.comparisons[scenario.name]]


def give_gold(stage, letters):
    for comparison, letter in zip(comparisons(stage), letters, strict=True):
        if letter != ".":
            GoldLabel.objects.create(
                comparison=comparison, verdict=VERDICTS[letter], source="DATASET"
            )


def record(stage, judge, original, swapped=None):
    """Recorded verdicts: letters a comparison, `?` unreadable; without swapped ones combined."""
    run = make_run(stage.dataset, kind=RunKind.RECORDED, status="DONE", judge=judge)
    orders = (
        {"COMBINED": original} if swapped is None else {"ORIGINAL": original, "SWAPPED": swapped}
    )
    for order, letters in orders.items():
        for comparison, letter in zip(comparisons(stage), letters, strict=True):
            state = (
                {"status": "UNPARSEABLE", "error_code": "verdict:unparseable"}
                if letter == "?"
                else {"status": "DONE", "verdict": VERDICTS[letter]}
            )
            Judgment.objects.create(
                run=run, comparison=comparison, preference=empty_preference(), order=order, **state
            )
    return run


def study():
    """Gold A everywhere; GPT-4 reads all but one, Falcon always names the first shown."""
    stage = Stage.make(scenarios=("hep-cpp", "math-prm"), size=3)
    give_gold(stage, "AAAAAA")
    gpt = record(stage, "GPT-4", "AAABAA", "AAA?AA")
    falcon = record(stage, "Falcon", "AAAAAA", "BBBBBB")
    return stage, gpt, falcon


def test_strangers_sign_in_first(client):
    for address in (GOLD, ROWS, CSV):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_are_refused(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (GOLD, ROWS, CSV)] == [403] * 3


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in (GOLD, ROWS, CSV)] == [405] * 3


def test_without_gold_or_a_judge_the_page_says_what_will_appear(viewer):
    assert "No gold answers yet" in tight(viewer.get(GOLD))
    stage = Stage.make()
    assert "No gold answers yet" in tight(viewer.get(GOLD))
    give_gold(stage, "AB..")
    page = tight(viewer.get(GOLD))
    assert "2 comparisons with a gold answer" in page
    assert "No verdicts on these comparisons yet" in page


def test_every_judge_has_a_row_as_papers_print_it(viewer):
    study()
    page = tight(viewer.get(GOLD))
    # GPT-4: 10 of 12 replies right, one unreadable; 5 of 6 comparisons alike.
    assert "83.3 %" in page
    # Falcon: half right, never alike, always the first shown.
    assert "50.0 %" in page
    assert "0.0 %" in page
    assert "100.0 %" in page


def test_two_runs_of_one_judge_can_be_told(viewer):
    stage, gpt, _falcon = study()
    again = record(stage, "GPT-4", "AAAAAA")
    page = tight(viewer.get(GOLD))
    assert f"run {gpt.pk}" in page
    assert f"run {again.pk}" in page


def test_the_chosen_judge_has_subsets_and_the_section(viewer):
    _stage, gpt, _falcon = study()
    page = tight(viewer.get(f"{GOLD}?run={gpt.pk}"))
    # math-prm weighs like the code: .5 * 1 + .5 * (4 / 5 readable)
    assert "Reasoning" in page
    assert "90.0 %" in page
    assert "hep-cpp" in page
    assert (
        f"/trust/gold/rows/?dataset=study&amp;run={gpt.pk}&amp;policy=EXCLUDED&amp;subset=math-prm"
        in page
    )


def test_unreadable_replies_can_count_as_wrong(viewer):
    _stage, gpt, _falcon = study()
    # (3 + 3) right of 6 in code, 4 of 6 in mathematics: (1 + 2/3) / 2
    assert "83.3 %" in tight(viewer.get(f"{GOLD}?run={gpt.pk}&policy=WRONG"))


def test_to_htmx_the_figures_alone_are_sent(viewer):
    study()
    part = tight(viewer.get(GOLD, headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert part.startswith("<nav")
    assert "<html" not in part


def test_combined_verdicts_have_no_order_to_measure(viewer):
    stage = Stage.make()
    give_gold(stage, "AABB")
    run = record(stage, "alpaca_eval", "AAB?")
    page = tight(viewer.get(GOLD))
    assert "position bias and consistency are unknown" in page
    rows = tight(viewer.get(f"{ROWS}?run={run.pk}"))
    assert "combined" in rows
    assert rows.count("agrees") >= 3


def test_rows_lead_to_why_judge_and_person_disagree_where_somebody_labelled(viewer):
    stage = Stage.make()
    give_gold(stage, "AABB")
    stage.label(stage.rater("ann"), "AB..")
    run = record(stage, "alpaca_eval", "AAB?")
    rows = viewer.get(f"{ROWS}?run={run.pk}").content.decode()
    links = re.findall(r'href="(/trust/disagreements/[^"]*)"', rows)
    assert [viewer.get(unescape(link)).status_code for link in links] == [200, 200]
    assert rows.count(f"/runs/{run.pk}/comparisons/") == 2


def test_a_number_leads_to_its_rows(viewer):
    _stage, gpt, _falcon = study()
    page = tight(viewer.get(f"{ROWS}?run={gpt.pk}&subset=math-prm"))
    assert "3 comparisons" in page
    assert page.count(f"/runs/{gpt.pk}/comparisons/") == 3
    disagreeing = tight(viewer.get(f"{ROWS}?run={gpt.pk}&outcome=disagrees"))
    assert disagreeing.count(f"/runs/{gpt.pk}/comparisons/") == 1
    assert "unreadable" in disagreeing
    reasoning = tight(viewer.get(f"{ROWS}?run={gpt.pk}&section=Reasoning"))
    assert "6 comparisons" in reasoning
    assert "section=Reasoning" in tight(viewer.get(f"{GOLD}?run={gpt.pk}"))
    nothing = tight(viewer.get(f"{ROWS}?run={gpt.pk}&outcome=split"))
    assert "No comparisons" in nothing


@pytest.mark.parametrize(
    "query",
    [
        "dataset=nope",
        "run=99999",
        "run=x",
        "policy=?",
        "subset=nope",
        "section=Chat",
        "section=nope",
        "outcome=nope",
        "dataset=a b",
    ],
)
def test_an_address_that_means_nothing_is_not_found(viewer, query):
    study()
    assert viewer.get(f"{ROWS}?{query}").status_code == 404


def test_rows_without_any_judge_are_not_found(viewer):
    give_gold(Stage.make(), "AAAA")
    assert viewer.get(ROWS).status_code == 404
    assert viewer.get(f"{GOLD}?run=3").status_code == 404


def test_a_run_of_the_dataset_before_means_nothing(viewer):
    _stage, gpt, _falcon = study()
    answer = viewer.get(f"{GOLD}?dataset=study&was_dataset=other&run={gpt.pk + 100}")
    assert answer.status_code == 200


def test_the_table_comes_as_a_file(viewer):
    _stage, gpt, _falcon = study()
    answer = viewer.get(f"{CSV}?run={gpt.pk}")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [(row["level"], row["subset"], row["n"]) for row in rows] == [
        ("subset", "hep-cpp", "3"),
        ("subset", "math-prm", "3"),
        ("all", "all", "6"),
        ("section", "Reasoning", "6"),
    ]
    assert {row["judge"] for row in rows} == {"GPT-4"}
    assert float(rows[2]["accuracy_of_all_replies"]) == pytest.approx(10 / 12)


def test_each_table_has_the_file_of_what_it_shows(viewer):
    _stage, gpt, _falcon = study()
    page = viewer.get(f"{GOLD}?run={gpt.pk}").content.decode()
    filters, rest = page.split("</form>", 1)
    of_all, of_one = rest.split("<h2>RewardBench")
    assert CSV not in filters.rsplit("<form", 1)[1]
    assert of_all.count(f"{CSV}?dataset=study&amp;policy=EXCLUDED") == 1
    assert of_one.count(f"{CSV}?dataset=study&amp;run={gpt.pk}&amp;policy=EXCLUDED") == 1


def test_without_figures_the_file_is_empty(viewer):
    assert viewer.get(CSV).content == b"\r\n"


def test_a_published_answer_counts_before_a_managers(viewer):
    stage = Stage.make(size=1)
    give_gold(stage, "A")
    GoldLabel.objects.create(comparison=comparisons(stage)[0], verdict="B", source="MANAGER")
    run = record(stage, "GPT-4", "A", "A")
    assert 'agrees</span><span class="iv">1</span>' in tight(viewer.get(f"{ROWS}?run={run.pk}"))


def test_a_judge_with_preferences_has_both_voices(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    give_gold(stage, "ABAB")
    run = stage.tested(ann, stage.distilled(ann), base="BBBB", selected="ABAB")
    page = tight(viewer.get(GOLD))
    assert f'run={run.pk}s"' in page
    assert f'run={run.pk}"' in page
    assert "for ann" in page


def test_many_judges_cost_no_more_queries_each(viewer, django_assert_max_num_queries):
    stage, _gpt, _falcon = study()
    for name in ("PaLM2", "LLaMA2", "ChatGPT"):
        record(stage, name, "AAAAAA", "AAAAAA")
    with django_assert_max_num_queries(24):
        viewer.get(GOLD)


def test_judges_stand_best_first_side_by_side(viewer):
    _stage, gpt, falcon = study()
    page = tight(viewer.get(f"{GOLD}?run={falcon.pk}"))
    table = page.split("<h2>All judges")[1].split("</table>")[0]
    assert table.index("GPT-4") < table.index("Falcon")
    by_subset = page.split("Accuracy by subset")[1].split("</table>")[0]
    assert by_subset.index("hep-cpp") < by_subset.index("math-prm") < by_subset.index("all")
    assert f"run={gpt.pk}&amp;subset=math-prm" in by_subset
    sections = page.split("<h2>RewardBench")[1].split("</table>")[0]
    assert "90.0 %" in sections
    assert f"run={falcon.pk}&amp;section=Reasoning" in sections


def test_a_judge_of_some_subsets_has_dashes_for_the_others(viewer):
    stage = Stage.make(scenarios=("hep-cpp", "donotanswer", "Other"), size=1)
    give_gold(stage, "AAA")
    record(stage, "GPT-4", "AAA")
    half = record(stage, "Half", "AAA")
    half.judgments.exclude(comparison=comparisons(stage)[0]).delete()
    page = tight(viewer.get(GOLD))
    sections = page.split("<h2>RewardBench")[1].split("</table>")[0]
    assert sections.count('<td class="n">–</td>') == 1
    by_subset = page.split("Accuracy by subset")[1].split("</table>")[0]
    assert by_subset.count('<td class="n">–</td>') == 2


def test_a_reward_model_says_that_it_only_scored(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    give_gold(stage, "ABAB")
    record(stage, "GPT-4", "ABAB")
    run = stage.tested(ann, None, base="ABAB", judge="skywork", kind=RunKind.GRADE)
    run.config["prompt"] = "REWARD"
    run.save()
    page = tight(viewer.get(f"{GOLD}?run={run.pk}"))
    assert page.count("Reward model scores") == 3  # filter, table, heading
    assert "skywork" in page.split("<h2>All judges")[1].split("</table>")[0]


def test_every_judge_s_figures_come_as_one_file(viewer):
    _stage, gpt, falcon = study()
    rows = list(csv.DictReader(io.StringIO(viewer.get(CSV).content.decode())))
    assert [(row["judge"], row["run"]) for row in rows if row["level"] == "all"] == [
        ("GPT-4", str(gpt.pk)),
        ("Falcon", str(falcon.pk)),
    ]


def test_a_dataset_without_gold_answers_says_so(viewer):
    study()
    Stage.make(slug="bare", name="Bare")
    page = tight(viewer.get(f"{GOLD}?dataset=bare"))
    assert "0 comparisons with a gold answer" in page
    assert "No verdicts on these comparisons yet" in page


def test_a_weighted_vote_is_a_row_of_its_own(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    for comparison in stage.comparisons["Writing"]:
        GoldLabel.objects.create(comparison=comparison, verdict="A", source="DATASET")
    run = stage.tested(ann, stage.distilled(ann), base="BBBB", selected="BBBB", stack="AAAA")
    page = tight(viewer.get("/trust/gold/"))
    assert "weighted vote" in page
    assert f"run={run.pk}v" in page

"""The page of a preference set: texts, matrix, trace and null. Sets that are applied elsewhere."""

from __future__ import annotations

import re

import pytest

from annotation.models import Comparison
from judging.core.lexical.stack import HEADER_EN
from judging.models import JudgeRun, Preference, PreferenceSet
from judging.queries.preferences import where_learned
from tests.benchmark.stage import Stage
from tests.factory import make_user
from tests.judging.views.test_runs import study
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def test_a_set_shows_its_texts_matrix_and_null(viewer):
    _stage, _ann, parent, _run = study()
    chosen = PreferenceSet.objects.filter(run=parent, control="NONE").first()
    page = viewer.get(f"/preference-sets/{chosen.pk}/")
    found = page.context["found"]
    assert [(column.selected, column.correct, column.answered) for column in found.columns] == [
        (False, 0, 1),
        (True, 2, 2),
    ]
    assert [cells for _number, _key, cells in found.rows] == [[(0, None, False), (1, 1, False)]]
    assert "ann prefers writing none." in one_line(page)
    assert "all 2 flips" in one_line(page)
    assert "Not above chance" in one_line(page)


def test_a_weighted_vote_is_told_in_the_readers_language(viewer):
    _stage, ann, parent, _run = study()
    chosen = PreferenceSet.objects.filter(run=parent, control="NONE").first()
    text = f"{HEADER_EN}\n0.250 the base judge\n0.750 weights: length -0.61, lists +0.20"
    chosen.stack = Preference.objects.create(
        run=parent, annotator=ann, dataset=chosen.dataset, kind="STACK", text=text, status="DONE"
    )
    chosen.save()
    address = f"/preference-sets/{chosen.pk}/"
    page = one_line(viewer.get(address))
    assert "short answers 0.61 · bullet points and lists 0.20" in page
    assert HEADER_EN not in page
    ((number, *_cells),) = viewer.get(address).context["found"].rows
    assert Comparison.objects.get(pk=number).name.shown in page
    own = one_line(viewer.get(f"/preferences/{chosen.stack.pk}/"))
    assert "short answers 0.61 · bullet points and lists 0.20" in own
    assert "From all labelled comparisons of the dev split." in own
    assert f'href="{address}"' in own
    viewer.cookies["django_language"] = "zh-hans"
    assert "简短的回答 0.61 · 要点和列表 0.20" in one_line(viewer.get(address))
    Preference.objects.filter(pk=chosen.stack.pk).update(text="As I say.")
    assert '<pre class="raw">As I say.</pre>' in one_line(viewer.get(address))


def test_a_set_shows_the_best_of_each_size_and_what_flipped_labels_reach(viewer):
    _stage, _ann, parent, _run = study()
    chosen = PreferenceSet.objects.filter(run=parent, control="NONE").first()
    address = f"/preference-sets/{chosen.pk}/"
    assert "Best subset of each size" not in one_line(viewer.get(address))
    chosen.selection |= {
        "denominator": 4,
        "trace": [[1, [1], 3.5], [2, [0, 1], 3.0]],
        "null": [[0.5, 1], [1.0, 1]],
    }
    chosen.save()
    answer = viewer.get(address)
    found, page = answer.context["found"], one_line(answer)
    assert [(step.subset, accuracy, taken) for step, accuracy, taken in found.trace] == [
        ((1,), 0.875, True),
        ((0, 1), 0.75, False),
    ]
    assert found.null == [(0.5, 1, False), (1.0, 1, True)]
    assert "Every subset was tried." in page
    assert "<title>100: 1</title>" in page
    chosen.selection["strategy"] = "beam"
    chosen.save()
    assert "Approximate: with more than 20 columns" in one_line(viewer.get(address))


def test_a_cell_on_a_columns_own_source_is_marked_as_masked(viewer):
    stage, _ann, parent, _run = study()
    chosen = PreferenceSet.objects.filter(run=parent, control="NONE").first()
    source = stage.comparisons["Writing"][0]
    chosen.members.update(source_comparison=source)
    ((_number, _key, cells),) = viewer.get(f"/preference-sets/{chosen.pk}/").context["found"].rows
    assert [masked for _first, _second, masked in cells] == [False, True]


@pytest.mark.parametrize("eligible", [True, False])
def test_an_aggregate_that_could_not_be_selected_says_so(viewer, eligible):
    _stage, _ann, parent, _run = study()
    parent.config["aggregate_eligible"] = eligible
    parent.save()
    chosen = PreferenceSet.objects.filter(run=parent, control="NONE").first()
    member = chosen.members.get()
    address = f"/preference-sets/{chosen.pk}/"
    assert "not eligible" not in one_line(viewer.get(address))
    member.kind = "AGGREGATE"
    member.save()
    chosen.members.clear()
    assert ("not eligible" in one_line(viewer.get(address))) is not eligible


def test_the_control_and_an_empty_selection_say_what_they_are(viewer):
    _stage, _ann, parent, _run = study()
    control = PreferenceSet.objects.filter(run=parent, control="SHUFFLED").first()
    assert "randomly flipped labels" in one_line(viewer.get(f"/preference-sets/{control.pk}/"))
    control.selection = {"error_code": "selection:no-labels"}
    control.save()
    assert "the base judge is used" in one_line(viewer.get(f"/preference-sets/{control.pk}/"))
    control.selection, control.p_value = {}, 0.01
    control.save()
    assert "Above chance" in one_line(viewer.get(f"/preference-sets/{control.pk}/"))


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.5, "Used, but its difference from the base judge could be chance (p 0.500)."),
        (0.03, "Above chance"),
    ],
)
def test_the_coin_does_not_speak_for_the_base_judge(viewer, p, said):
    _stage, _ann, parent, _run = study()
    chosen = PreferenceSet.objects.filter(run=parent, control="NONE").first()
    chosen.p_value, chosen.p_over_base = 0.01, p
    chosen.leave_one_out, chosen.base_accuracy = 0.8, 0.7
    chosen.save()
    page = one_line(viewer.get(f"/preference-sets/{chosen.pk}/"))
    assert said in page
    assert f"p against the base judge {p:.3f}" in page
    assert re.search(r"<b>0.010</b>\s*<span>(<a [^>]*>)?p against chance\b", page)
    run = one_line(viewer.get(f"/runs/{parent.pk}/"))
    assert re.search(r'<th class="n">(<a [^>]*>)?p against the base judge', run)
    assert f'<td class="n">80 %</td> <td class="n">70 %</td> <td class="n">{p:.3f}</td>' in run


def test_an_annotator_sees_their_own_set_alone(client):
    stage, ann, parent, _run = study()
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    own = PreferenceSet.objects.filter(run=parent).first()
    page = one_line(client.get(f"/preference-sets/{own.pk}/"))
    assert "ann prefers writing none." in page
    assert f'href="/runs/{parent.pk}/"' not in page
    assert f'href="/runs/{parent.pk}/preferences/"' in page
    other = PreferenceSet.objects.filter(run=stage.distilled(stage.rater("other"))).first()
    assert client.get(f"/preference-sets/{other.pk}/").status_code == 404


def test_what_the_page_costs_does_not_grow_with_rows(viewer, django_assert_num_queries):
    _stage, _ann, parent, _run = study()
    chosen = PreferenceSet.objects.filter(run=parent).first()
    viewer.get("/runs/")
    with django_assert_num_queries(7):
        viewer.get(f"/preference-sets/{chosen.pk}/")


def test_preferences_that_were_learned_elsewhere_follow_their_annotator(client):
    client.force_login(make_user(role="MANAGER"))
    Stage.make(slug="new", name="New")
    elsewhere = Stage.make(slug="other", name="Other")
    bob = elsewhere.rater("bob")
    elsewhere.label(bob, "ABAB")
    learned = elsewhere.distilled(bob)
    page = client.get("/runs/new/", {"dataset": "new"})
    offered = page.context["form"].fields["annotator"].choices
    assert offered == [("", "everybody"), ("Other", [(bob.pk, "bob")])]
    asked = page.context["form"].initial
    assert (asked["kind"], asked["targets"], asked["sets"]) == ("TEST", "all", "")
    assert "those of the annotator above; none for everybody" in page.content.decode()
    fields = {"dataset": "new", "judge": "lexical", "kind": "TEST", "sets": "", "targets": "all"}

    def estimated(**more):
        answer = client.post("/runs/new/estimate/", {**fields, **more}, headers={"HX-Request": 1})
        return answer.content.decode()

    assert "Preferences: those of bob, learned in Other." in estimated(annotator=bob.pk)
    for other in ({"annotator": ""}, {"annotator": bob.pk, "sets": "none"}):
        assert "Preferences: those" not in estimated(**other)
    client.post("/runs/new/", {**fields, "annotator": bob.pk})
    run = JudgeRun.objects.latest("pk")
    assert (run.annotator, run.parent, run.config["set_dataset"]) == (bob, learned, "other")
    assert {row.preference.kind for row in run.judgments.all()} > {"EMPTY"}
    settings = client.get(f"/runs/{run.pk}/").content.decode()
    for used in ("preferences learned in", "preference length", "stand-in", "shuffled-label"):
        assert used in settings, used
    client.post("/runs/new/", {**fields, "annotator": ""})
    run = JudgeRun.objects.latest("pk")
    assert (run.annotator, run.config["sets_of"]) == (None, None)
    assert {row.preference.kind for row in run.judgments.all()} == {"EMPTY"}
    settings = client.get(f"/runs/{run.pk}/").content.decode()
    for unused in ("preferences learned in", "preference length", "stand-in", "shuffled-label"):
        assert unused not in settings, unused
    assert where_learned(bob.pk, elsewhere.dataset) is None

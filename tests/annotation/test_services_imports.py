from __future__ import annotations

import pytest

from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Study,
    Turn,
    User,
)
from annotation.services.imports import import_records
from tests.annotation.records import LATER, NOW, everything, import_rows, pair, rated, write
from tests.factory import (
    make_comparison,
    make_dataset,
    make_label,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.paths import shared_data
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

TABLES = (
    Session,
    Turn,
    Response,
    Comparison,
    PairwiseLabel,
    SatisfactionLabel,
    SessionQuestionnaire,
    GoldLabel,
    User,
    Study,
)


def stored():
    """How many rows each table has, and what they say."""
    return {
        table.__name__: sorted(
            str({key: value for key, value in row.items() if key != "updated_at"})
            for row in table.objects.values()
        )
        for table in TABLES
    }


def test_a_pair_is_stored_with_its_label(tmp_path):
    report = import_rows(tmp_path, pair(shown_order="SWAPPED", comment="c"))
    label = PairwiseLabel.objects.select_related("comparison__turn__session__scenario").get()
    assert (report.rows, report.created, report.unchanged, report.fault_count) == (1, 1, 0, 0)
    assert report.objects == {
        "sessions": 1,
        "turns": 1,
        "responses": 2,
        "comparisons": 1,
        "labels": 1,
        "raters": 1,
    }
    assert (label.verdict, label.shown_order, label.comment) == ("A", "SWAPPED", "c")
    assert label.created_at == NOW
    assert label.comparison.response_a.text == "1"
    assert label.comparison.turn.user_message == "p"
    assert label.comparison.turn.session.scenario.name == "s"


def test_raters_are_inactive_users_of_the_dataset(tmp_path):
    import_rows(tmp_path, pair())
    rater = User.objects.get()
    assert (rater.username, rater.display_name) == ("data:ann", "ann")
    assert not rater.is_active
    assert not rater.has_usable_password()


def test_spellings_of_one_name_are_one_rater(tmp_path):
    names = ["李雷（二组）", "李雷(二组)", " 李雷（二组） ", "Jose\u0301", "José"]
    rows = [pair(prompt=f"p{place}", annotator=name) for place, name in enumerate(names)]
    report = import_rows(tmp_path, *rows[:1], *rows[3:])
    assert (report.objects["raters"], report.objects["labels"]) == (2, 3)
    again = import_rows(tmp_path, *rows)
    assert (again.created, again.unchanged, again.objects["raters"]) == (2, 3, 0)
    assert set(User.objects.values_list("username", flat=True)) == {
        "data:李雷（二组）",
        "data:Jos\u00e9",
    }


def test_the_same_name_in_two_datasets_is_two_raters(tmp_path):
    import_rows(tmp_path, pair(), dataset="one")
    import_rows(tmp_path, pair(), dataset="two")
    assert set(User.objects.values_list("username", flat=True)) == {"one:ann", "two:ann"}


def test_pairs_of_one_prompt_share_a_turn_and_its_responses(tmp_path):
    import_rows(tmp_path, pair(), pair(model_b="o", text_b="3"))
    assert Turn.objects.count() == 1
    assert Response.objects.count() == 3
    assert list(Comparison.objects.order_by("position").values_list("position", flat=True)) == [
        0,
        1,
    ]


def test_a_rated_conversation_is_stored_with_everything(tmp_path):
    report = import_rows(tmp_path, rated())
    label = SatisfactionLabel.objects.get()
    session = Session.objects.get()
    profile = AnnotatorProfile.objects.get()
    assert report.objects["satisfaction"] == report.objects["questionnaires"] == 1
    assert (label.score, label.reason, label.hallucination) == (3, "UNUSABLE", "NO")
    assert session.original_user == label.annotator == profile.user
    assert session.profile_snapshot == {"age": 20, "personality": ["calm"], "background": "x"}
    assert session.extra == {"profile": {"mbti": "INTJ"}}
    assert (profile.age, profile.personality, profile.extra) == ("20", ["calm"], {"mbti": "INTJ"})
    assert SessionQuestionnaire.objects.get().answers == [{"query": "q", "option": "yes"}]


def test_a_profile_is_the_first_one_told(tmp_path):
    import_rows(tmp_path, rated(), rated(key="k2", profile={"age": "21", "other_aspects": "x"}))
    assert AnnotatorProfile.objects.get().age == "20"
    assert Session.objects.get(key="k2").profile_snapshot["age"] == "21"


def test_odd_profiles_are_stored_as_far_as_they_fit(tmp_path):
    odd = {"gender": "g" * 99, "age": None, "occupation": ["a"], "other_aspects": "x"}
    import_rows(tmp_path, rated(profile=odd))
    profile = AnnotatorProfile.objects.get()
    assert (profile.gender, profile.age, profile.occupation) == ("g" * 50, "", '["a"]')
    assert profile.other_aspects == ["x"]


def test_everything_is_stored(tmp_path):
    report = import_rows(tmp_path, *everything())
    dataset = Dataset.objects.get()
    late = Comparison.objects.get(key="later")
    assert report.fault_count == 0
    assert (dataset.name, dataset.licence, dataset.simulated) == ("Everything", "CC0-1.0", True)
    assert late.position == 7
    assert (late.response_a.text, late.response_b.text) == ("B2", "A2")
    assert late.response_a.continues == Response.objects.get(model="n", text="")
    assert late.labels.count() == 3
    assert set(Study.objects.values_list("slug", "name", "status")) == {
        ("data--pilot", "pilot", "CLOSED")
    }
    assert Turn.objects.get(position=2).user_message is None
    assert set(GoldLabel.objects.values_list("verdict", "score", "source")) == {
        ("B", None, "MANAGER"),
        (None, 4, "DATASET"),
        (None, 5, "ADJUDICATION"),
    }


def test_importing_again_changes_nothing_and_says_so(tmp_path):
    import_rows(tmp_path, *everything())
    before = stored()
    again = import_rows(tmp_path, *everything(), now=LATER)
    assert (again.rows, again.created, again.unchanged, again.fault_count) == (4, 0, 4, 0)
    assert again.objects == {"raters": 0}
    assert stored() == before


def test_a_second_file_adds_only_its_labels(tmp_path):
    import_rows(tmp_path, pair())
    more = import_rows(tmp_path, pair(annotator="bob", verdict="B"), pair())
    assert (more.created, more.unchanged) == (1, 1)
    assert more.objects == {"labels": 1, "raters": 1}
    assert set(PairwiseLabel.objects.values_list("annotator__display_name", "verdict")) == {
        ("ann", "A"),
        ("bob", "B"),
    }


def test_a_session_may_grow_at_its_end(tmp_path):
    import_rows(tmp_path, rated())
    longer = rated()
    longer["turns"].append({"user": "b"})
    assert import_rows(tmp_path, longer).objects == {"turns": 1, "raters": 0}
    assert import_rows(tmp_path, rated()).unchanged == 1


def test_an_original_known_by_its_text_alone_is_the_stored_one(tmp_path):
    import_rows(tmp_path, rated())
    nameless = {"text": "A", "original": True}
    told = {"type": "session", "key": "k", "scenario": "s"}
    known = {**told, "turns": [{"user": "a", "responses": [nameless]}]}
    assert import_rows(tmp_path, known).unchanged == 1
    other = {**told, "turns": [{"user": "a", "responses": [{**nameless, "text": "Z"}]}]}
    report = import_rows(tmp_path, other)
    assert report.faults[0].reason == "This turn already has another original response"


def changed(**fields):
    row = everything()[1]
    return {**row, **fields}


def in_turns(change):
    row = everything()[1]
    change(row["turns"])
    return row


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (pair(verdict="B"), "labels[ann].verdict"),
        (pair(strength=1), "labels[ann].strength"),
        (pair(comment="new"), "labels[ann].comment"),
        (pair(shown_order="ORIGINAL"), "labels[ann].shown_order"),
        (pair(given_at="2026-01-31T12:00:01Z"), "labels[ann].given_at"),
        (pair(session="k", scenario="t"), "scenario"),
        (changed(task_context="another"), "task_context"),
        (changed(system_prompt="another"), "system_prompt"),
        (changed(language="en"), "language"),
        (changed(user="bob"), "user"),
        (changed(profile={"age": 21}), "profile"),
        (changed(extra={"strategy": [2]}), "extra.strategy"),
        (changed(gold=[{"source": "ADJUDICATION", "score": 1}]), "gold[ADJUDICATION]"),
        (changed(satisfaction=[{"annotator": "ann", "score": 5}]), "labels[ann].score"),
        (
            changed(questionnaires=[{"annotator": "User_1", "answers": [{"q": 1}]}]),
            "questionnaires[User_1]",
        ),
        (in_turns(lambda turns: turns[0].update(user="z")), "turns[0].user"),
        (
            in_turns(lambda turns: turns[0]["responses"][1].update(extra={"tokens": 1})),
            "turns[0].responses[1].extra.tokens",
        ),
        (
            in_turns(
                lambda turns: (
                    turns[0]["responses"][0].update(original=False),
                    turns[0]["responses"][1].update(original=True),
                )
            ),
            "turns[0].responses[1].original",
        ),
        (
            in_turns(lambda turns: turns[1]["responses"][1].update(continues="x")),
            "turns[1].responses[1].continues",
        ),
        (
            in_turns(lambda turns: turns[1]["comparisons"][0].update(a="2")),
            "turns[1].comparisons[0].a",
        ),
        (
            in_turns(lambda turns: turns[1]["comparisons"][0].update(extra={"idx": 5})),
            "turns[1].comparisons[0].extra.idx",
        ),
        ({"type": "dataset", "name": "Another"}, "name"),
        ({"type": "dataset", "simulated": False}, "simulated"),
    ],
)
def test_what_contradicts_the_stored_row_is_a_fault_and_writes_nothing(tmp_path, row, field):
    import_rows(tmp_path, *everything(), pair(), pair(session="k2", scenario="u", prompt="new"))
    if row.get("session") == "k":
        row = {**row, "session": "k2", "prompt": "new"}
    before = stored()
    report = import_rows(tmp_path, pair(annotator="eve", verdict="B"), row, dataset="data")
    assert [(fault.line, fault.field) for fault in report.faults] == [(2, field)]
    assert (report.created, report.unchanged, report.objects) == (0, 0, {})
    assert stored() == before


def test_two_rows_of_one_file_may_contradict_each_other(tmp_path):
    report = import_rows(tmp_path, pair(), pair(verdict="TIE"))
    assert [(fault.line, fault.value) for fault in report.faults] == [(2, "TIE")]
    assert not Dataset.objects.exists()


def test_faults_of_reading_and_of_merging_are_listed_together(tmp_path):
    report = import_rows(tmp_path, pair(verdict="C"), pair(), pair(verdict="B"), {"type": "x"})
    assert [fault.line for fault in report.faults] == [1, 3, 4]
    assert (report.rows, report.created) == (4, 0)
    assert not User.objects.exists()


def test_a_dry_run_says_what_would_be_and_writes_nothing(tmp_path):
    report = import_rows(tmp_path, pair(), dry_run=True)
    assert (report.created, report.dry_run) == (1, True)
    assert not Dataset.objects.exists()


def test_only_wanted_users_are_imported(tmp_path):
    rows = [rated(), rated(key="k2", user="User_2", questionnaires=[], turns=[])]
    report = import_rows(tmp_path, *rows, only_users=frozenset({"User_2", "User_9"}))
    assert (report.rows, report.created, report.missing_users) == (1, 1, ("User_9",))
    assert Session.objects.get().key == "k2"
    nobody = import_rows(tmp_path, *rows, only_users=frozenset({"User_9"}))
    assert nobody.faults[0].reason == "No rows for the selected users"


def test_a_dataset_is_described_once(tmp_path):
    line = {"type": "dataset", "name": "N", "source": "S"}
    assert import_rows(tmp_path, line).created == 1
    assert import_rows(tmp_path, line).unchanged == 1
    assert import_rows(tmp_path, {"type": "dataset", "licence": "CC0"}).created == 1
    simulated = import_rows(tmp_path, {"type": "dataset", "simulated": True})
    assert simulated.faults[0].field == "simulated"
    row = Dataset.objects.get()
    assert (row.slug, row.name, row.source, row.licence) == ("data", "N", "S", "CC0")


def test_an_import_is_audited_when_it_added_something(tmp_path):
    boss = make_user(role="MANAGER")
    import_rows(tmp_path, pair(), actor=boss)
    import_rows(tmp_path, pair(), actor=boss)
    event = AuditEvent.objects.get()
    assert (event.actor, event.action, event.detail["labels"]) == (boss, "import", 1)


def test_accounts_of_this_site_get_no_labels_from_a_file(tmp_path):
    scenario = make_scenario(make_dataset(slug="data"), name="s")
    turn = make_turn(make_session(scenario, key="k"), user_message="p")
    make_label(make_comparison(turn, key="c"), annotator=make_user(username="ann"))
    stored_pair = Comparison.objects.get()
    known = pair(
        session="k",
        comparison="c",
        model_a=stored_pair.response_a.model,
        text_a=stored_pair.response_a.text,
        model_b=stored_pair.response_b.model,
        text_b=stored_pair.response_b.text,
    )
    assert import_rows(tmp_path, known).unchanged == 1
    by_ann = rated(
        key="k3",
        satisfaction=[{"annotator": "ann", "score": 5}],
        questionnaires=[{"annotator": "ann", "answers": []}],
    )
    report = import_rows(tmp_path, pair(prompt="another"), rated(key="k2", user="ann"), by_ann)
    assert [(fault.line, fault.field) for fault in report.faults] == [
        (1, "annotator"),
        (2, "user"),
        (3, "annotator"),
        (3, "annotator"),
    ]
    assert all("by signing in" in fault.reason for fault in report.faults)


def test_a_study_of_this_dataset_is_known_by_its_short_name(tmp_path):
    dataset = make_dataset(slug="data")
    pilot = Study.objects.create(slug="pilot", name="Pilot", kind="PAIRWISE", dataset=dataset)
    import_rows(tmp_path, pair(study="pilot"))
    assert PairwiseLabel.objects.get().study == pilot
    import_rows(tmp_path, pair(study="pilot"), dataset="other")
    assert Study.objects.exclude(pk=pilot.pk).get().slug == "other--pilot"
    assert import_rows(tmp_path, pair(study="pilot"), dataset="other").unchanged == 1


def test_a_rater_whose_name_does_not_fit_is_a_fault(tmp_path):
    report = import_rows(tmp_path, pair(annotator="n" * 80), dataset="d" * 80)
    assert report.faults[0].reason == "Must be at most 69 characters in this dataset"


@pytest.mark.parametrize("slug", ["", "a b", "import", "x" * 81, "ä/b"])
def test_a_dataset_needs_a_short_name(tmp_path, slug):
    with refuses("import:dataset"):
        import_rows(tmp_path, pair(), dataset=slug)


def test_rows_cost_no_query_each(tmp_path, django_assert_max_num_queries):
    few = write(tmp_path / "few", [pair(prompt=f"p{number}") for number in range(3)])
    many = write(tmp_path / "many", [pair(prompt=f"p{number}") for number in range(150)])
    with django_assert_max_num_queries(100):  # most make and drop the tables of the staging
        import_records(path=few, dataset_slug="few", now=NOW)
    with django_assert_max_num_queries(100):
        import_records(path=many, dataset_slug="many", now=NOW)
    with django_assert_max_num_queries(30):
        assert import_records(path=many, dataset_slug="many", now=NOW).unchanged == 150


def test_progress_is_told_by_batch(tmp_path):
    told = []
    rows = [pair(prompt=f"p{number}") for number in range(450)]
    import_rows(tmp_path, *rows, progress=told.append)
    assert told == [200, 400, 450]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pandalm_testset_dev.json", {"sessions": 119, "comparisons": 681, "labels": 2043}),
        ("recllmsim_dev.jsonl.gz", {"sessions": 1035, "turns": 4606, "satisfaction": 4532}),
        ("sensebench_prompts.json", {"sessions": 411, "turns": 852, "responses": 524}),
    ],
)
def test_public_files_are_imported_and_known_again(name, expected):
    path = shared_data(name)
    report = import_records(path=path, dataset_slug="data", now=NOW)
    assert report.fault_count == 0
    assert report.objects.items() >= expected.items()
    again = import_records(path=path, dataset_slug="data", now=LATER)
    assert (again.created, again.unchanged) == (0, report.rows)

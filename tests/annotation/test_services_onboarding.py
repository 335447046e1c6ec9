from __future__ import annotations

import pytest

from annotation.core.choices import StudyKind
from annotation.core.guidelines import Change, QuizQuestion, digest, from_records
from annotation.core.participants import Step
from annotation.core.studies import StudyPlan
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Claim,
    GuidelinesVersion,
    PairwiseLabel,
    Participation,
    PauseReason,
    Study,
)
from annotation.queries.participants import (
    guidelines_changed,
    guidelines_history,
    onboarding_of,
    participation_of,
)
from annotation.services.claims import RefusalCode, next_task, renew_lease
from annotation.services.participants import (
    answer_quiz,
    consent,
    decline,
    read_guidelines,
    store_profile,
    text_digest,
)
from annotation.services.studies import (
    create_study,
    keep_version_in_force,
    publish_guidelines,
    set_consent,
    set_quiz,
)
from tests.annotation.entry import (
    CONSENT,
    EVERYTHING,
    GUIDELINES,
    QUIZ,
    do,
    make_asking_study,
    make_manager,
    part_of,
)
from tests.annotation.labelling import NOW, answer
from tests.factory import make_comparison, make_study, make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
QUESTIONS = from_records(QUIZ)
RIGHT = {1: 1, 2: 0}


@pytest.fixture
def annotator():
    return make_user()


@pytest.fixture
def study(annotator):
    return make_asking_study([annotator])


def step_of(study, annotator):
    return onboarding_of(study.slug, annotator).open


def agree(study, annotator):
    consent(study=study.slug, annotator=annotator, text=text_digest(study.consent), now=NOW)


def attempt(study, annotator, given, quiz=QUESTIONS):
    return answer_quiz(
        study=study.slug, annotator=annotator, quiz=digest(quiz), given=given, now=NOW
    )


def publish(study, text, since=1):
    return publish_guidelines(study=study.slug, text=text, since=since, by=make_manager())


class TestTheWayToTheFirstItem:
    def test_leads_over_every_page_in_its_order(self, study, annotator):
        assert step_of(study, annotator) is Step.CONSENT
        agree(study, annotator)
        assert step_of(study, annotator) is Step.PROFILE
        store_profile(annotator=annotator, fields={"gender": "Male", "personality": ["Calm"]})
        assert step_of(study, annotator) is Step.GUIDELINES
        read_guidelines(study=study.slug, annotator=annotator, version=1)
        assert step_of(study, annotator) is Step.QUIZ
        assert attempt(study, annotator, {1: 0, 2: 0}) == (1,)
        assert step_of(study, annotator) is Step.QUIZ
        assert attempt(study, annotator, RIGHT) == ()
        at = onboarding_of(study.slug, annotator)
        assert (at.open, at.finished) == (None, tuple(Step))
        part = part_of(study, annotator)
        assert (part.consented_at, part.guidelines_read, part.quiz_attempts) == (NOW, 1, 2)
        assert part.quiz_passed_at == NOW
        task = next_task(study=study.slug, annotator=annotator, now=NOW)
        assert task.place.progress.left == 2

    @pytest.mark.parametrize(
        ("done", "step"),
        [
            ((), Step.CONSENT),
            (("consent",), Step.PROFILE),
            (("consent", "profile"), Step.GUIDELINES),
            (("consent", "profile", "guidelines"), Step.QUIZ),
        ],
    )
    def test_gives_no_item_out_before_its_end(self, study, annotator, done, step):
        do(study, annotator, *done)
        with refuses("labelling:not-ready") as refused:
            next_task(study=study.slug, annotator=annotator, now=NOW)
        assert (refused.value.values["step"], refused.value.code) == (step, RefusalCode.NOT_READY)
        assert not Claim.objects.exists()

    def test_costs_one_query(self, annotator, django_assert_num_queries):
        studies = [make_study(annotators=[annotator]), make_asking_study([annotator])]
        do(studies[1], annotator, "consent", "profile", "guidelines", "quiz")
        for study in studies:
            with django_assert_num_queries(1):
                part = participation_of(study.slug, annotator)
                assert part.study.slug == study.slug

    def test_is_nobody_s_who_is_not_in_the_study(self, study):
        assert onboarding_of(study.slug, make_user()) is None
        assert onboarding_of("nowhere", make_user()) is None

    @pytest.mark.parametrize("status", ["DRAFT", "CLOSED"])
    def test_is_closed_while_the_study_is(self, study, annotator, status):
        Study.objects.update(status=status)
        assert onboarding_of(study.slug, annotator) is None
        with refuses("onboarding:not-now"):
            agree(study, annotator)

    def test_takes_no_step_before_it_is_open(self, study, annotator):
        with refuses("onboarding:not-now"):
            read_guidelines(study=study.slug, annotator=annotator, version=1)
        with refuses("onboarding:not-now"):
            attempt(study, annotator, RIGHT)
        do(study, annotator, "consent")
        with refuses("onboarding:not-now"):
            agree(study, annotator)
        with refuses("onboarding:not-now"):
            decline(study=study.slug, annotator=annotator)
        part = part_of(study, annotator)
        assert (part.guidelines_read, part.quiz_attempts) == (None, 0)

    def test_leads_past_empty_texts(self, annotator):
        study = make_asking_study([annotator], consent=" \n", guidelines="\n", quiz=[])
        assert onboarding_of(study.slug, annotator).steps == ()
        next_task(study=study.slug, annotator=annotator, now=NOW)


class TestConsent:
    def test_is_kept_with_the_text_agreed_to(self, study, annotator):
        agree(study, annotator)
        event = AuditEvent.objects.get(action="study.consented")
        assert (event.actor, event.detail) == (annotator, {"text": text_digest(CONSENT)})

    def test_to_another_text_does_not_count(self, study, annotator):
        with refuses("onboarding:changed"):
            consent(study=study.slug, annotator=annotator, text=text_digest("old"), now=NOW)
        assert part_of(study, annotator).consented_at is None

    def test_declined_leaves_the_study_and_gives_back_what_is_at_hand(self, annotator):
        study = make_asking_study([annotator], consent="", items=2)
        other = make_asking_study([annotator], consent="")
        task = next_task(study=study.slug, annotator=annotator, now=NOW)
        answer(study, task, annotator)
        for each in (study, other):
            next_task(study=each.slug, annotator=annotator, now=NOW)
        Study.objects.filter(pk=study.pk).update(consent=CONSENT)
        decline(study=study.slug, annotator=annotator)
        assert not Participation.objects.filter(study=study).exists()
        assert PairwiseLabel.objects.count() == 1
        states = dict(Claim.objects.values_list("item__study", "state").order_by("pk"))
        assert states == {study.pk: "RELEASED", other.pk: "ACTIVE"}
        assert AuditEvent.objects.filter(action="study.declined", actor=annotator).count() == 1

    def test_declined_while_paused_does_not_end_the_pause(self, study, annotator):
        Participation.objects.update(paused_at=NOW, pause_reason=PauseReason.MANAGER)
        decline(study=study.slug, annotator=annotator)
        assert part_of(study, annotator).paused_at == NOW


def test_a_profile_takes_the_place_of_what_was_said_before():
    user = make_user()
    AnnotatorProfile.objects.create(user=user, gender="Male", extra={"mbti": "INTJ"})
    store_profile(annotator=user, fields={"gender": "", "personality": ["Calm"]})
    profile = AnnotatorProfile.objects.get()
    assert (profile.gender, profile.personality) == ("", ["Calm"])
    assert profile.extra == {"mbti": "INTJ"}


class TestGuidelines:
    def test_a_new_version_is_read_before_the_next_item(self, study, annotator):
        do(study, annotator, "consent", "profile", "guidelines", "quiz")
        task = next_task(study=study.slug, annotator=annotator, now=NOW)
        assert publish(study, "Read *both* responses twice.") == 2
        study.refresh_from_db()
        for refused in (
            lambda: answer(study, task, annotator),
            lambda: renew_lease(
                study=study.slug, item=task.place.item, annotator=annotator, now=NOW
            ),
            lambda: next_task(study=study.slug, annotator=annotator, now=NOW),
        ):
            with refuses("labelling:not-ready") as error:
                refused()
            assert error.value.values["step"] is Step.GUIDELINES
        assert not PairwiseLabel.objects.exists()
        read_guidelines(study=study.slug, annotator=annotator, version=2)
        again = next_task(study=study.slug, annotator=annotator, now=NOW)
        assert again.place.item == task.place.item
        answer(study, again, annotator)
        label = PairwiseLabel.objects.get()
        assert label.guidelines_version == part_of(study, annotator).guidelines_read == 2

    def test_a_version_that_is_not_in_force_is_not_read(self, study, annotator):
        do(study, annotator, "consent", "profile")
        publish(study, "New.")
        with refuses("onboarding:changed"):
            read_guidelines(study=study.slug, annotator=annotator, version=1)
        assert part_of(study, annotator).guidelines_read is None

    def test_every_version_is_kept_the_first_too(self, study):
        publish(study, "Second.")
        publish(study, "Third.", since=2)
        rows = GuidelinesVersion.objects.order_by("version").values_list("version", "text")
        assert list(rows) == [(1, GUIDELINES), (2, "Second."), (3, "Third.")]
        study.refresh_from_db()
        assert (study.guidelines, study.guidelines_version) == ("Third.", 3)
        events = AuditEvent.objects.filter(action="study.guidelines").order_by("pk")
        assert [event.detail for event in events] == [{"version": 2}, {"version": 3}]

    def test_the_first_version_is_kept_with_its_study(self):
        manager, pair = make_manager(), make_comparison()
        plan = StudyPlan(
            name="Pilot",
            kind=StudyKind.PAIRWISE,
            dataset=pair.turn.session.dataset.slug,
            annotators=(),
            overlap=1,
            allow_tie=False,
            allow_strength=False,
            ask_hallucination=False,
            guidelines="First.",
        )
        slug = create_study(plan, by=manager)
        row = GuidelinesVersion.objects.get(study__slug=slug)
        assert (row.version, row.text, row.created_by) == (1, "First.", manager)

    def test_keeping_the_version_in_force_twice_keeps_it_once(self, study):
        for _twice in range(2):
            keep_version_in_force(study)
        assert GuidelinesVersion.objects.get().text == GUIDELINES

    def test_what_is_written_on_an_older_version_is_refused(self, study):
        publish(study, "Second.")
        with refuses("guidelines:outdated"):
            publish(study, "Also second.")
        assert GuidelinesVersion.objects.count() == 2

    @pytest.mark.parametrize("text", [GUIDELINES, f"\r\n{GUIDELINES} "])
    def test_the_same_text_is_no_new_version(self, study, text):
        with refuses("guidelines:unchanged"):
            publish(study, text)
        assert not GuidelinesVersion.objects.exists()

    def test_what_changed_is_told_to_those_who_read_an_older_one(self, study):
        publish(study, "Read *both* texts.")
        study.refresh_from_db()
        before, pieces = guidelines_changed(study, 1)
        changed = {piece.text for piece in pieces if piece.change is not Change.KEPT}
        assert (before, changed) == (1, {"responses", "texts"})
        for read in (None, 2, 7):
            assert guidelines_changed(study, read) == (None, None)

    def test_the_history_says_who_read_what(self, study, annotator):
        assert [row.version for row, *_more in guidelines_history(study)] == [1]
        do(study, annotator, "guidelines")
        publish(study, "Second.")
        study.refresh_from_db()
        (newest, readers, changed), (first, *before) = guidelines_history(study)
        assert (newest.version, newest.text, readers) == (2, "Second.", 0)
        assert (first.version, first.text, before) == (1, GUIDELINES, [1, None])
        assert newest.created_by is not None
        assert {piece.change for piece in changed} >= {Change.NEW, Change.GONE}


class TestTheQuiz:
    @pytest.fixture
    def study(self, annotator):
        return make_asking_study([annotator], quiz=QUIZ)

    def test_counts_every_attempt_until_it_is_passed(self, study, annotator):
        assert attempt(study, annotator, {}) == (1, 2)
        assert attempt(study, annotator, {1: 1, 2: 2}) == (2,)
        assert attempt(study, annotator, RIGHT) == ()
        with refuses("onboarding:not-now"):
            attempt(study, annotator, RIGHT)
        part = part_of(study, annotator)
        assert (part.quiz_attempts, part.quiz_passed_at) == (3, NOW)

    def test_is_not_passed_by_answers_to_another_one(self, study, annotator):
        with refuses("onboarding:changed"):
            attempt(study, annotator, RIGHT, quiz=QUESTIONS[:1])
        assert part_of(study, annotator).quiz_attempts == 0

    @pytest.mark.parametrize(("ask_again", "step"), [(False, None), (True, Step.QUIZ)])
    def test_changed_asks_those_who_passed_only_on_wish(self, study, annotator, ask_again, step):
        attempt(study, annotator, RIGHT)
        quiz = (QuizQuestion("New?", ("a", "b"), 0),)
        set_quiz(study=study.slug, quiz=quiz, ask_again=ask_again, since=0, by=make_manager())
        assert step_of(study, annotator) is step
        event = AuditEvent.objects.get(action="study.quiz")
        assert event.detail["before"] == QUIZ
        assert event.detail["asked_again"] == int(ask_again)
        if step:
            assert attempt(study, annotator, {1: 0}, quiz=quiz) == ()
            assert part_of(study, annotator).quiz_attempts == 2

    def test_with_a_fault_is_refused_whole(self, study):
        with refuses("quiz:faulty"):
            set_quiz(
                study=study.slug, quiz=(QuizQuestion(),), ask_again=True, since=0, by=make_manager()
            )
        study.refresh_from_db()
        assert study.quiz == QUIZ

    def test_stored_as_it_was_leaves_no_trace(self, study):
        set_quiz(study=study.slug, quiz=QUESTIONS, ask_again=True, since=0, by=make_manager())
        assert not AuditEvent.objects.exists()


class TestSettingConsentAndProfile:
    def set(self, study, **changes):
        told = {"text": CONSENT, "ask_profile": True, "ask_again": False, "since": 0, **changes}
        set_consent(study=study.slug, by=make_manager(), **told)

    def test_both_texts_are_kept_in_the_trace(self, study):
        self.set(study, text="New words.", ask_profile=False)
        study.refresh_from_db()
        assert (study.consent, study.ask_profile) == ("New words.", False)
        detail = AuditEvent.objects.get().detail
        assert detail["before"] == {"consent": CONSENT, "ask_profile": True}
        assert detail["after"] == {"consent": "New words.", "ask_profile": False}

    @pytest.mark.parametrize(("ask_again", "step"), [(False, Step.PROFILE), (True, Step.CONSENT)])
    def test_those_who_agreed_are_asked_again_on_wish(self, study, annotator, ask_again, step):
        do(study, annotator, "consent")
        self.set(study, text="New words.", ask_again=ask_again)
        assert step_of(study, annotator) is step

    def test_nothing_changed_leaves_no_trace(self, study):
        self.set(study)
        assert not AuditEvent.objects.exists()
        assert {name: getattr(study, name) for name in EVERYTHING} == EVERYTHING

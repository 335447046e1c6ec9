"""`manage.py serve` says what is wrong with its arguments before anything listens."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from judging.models import LlmCall
from sensejudge_site.demo.accounts import make_logins
from sensejudge_site.sign_in import is_from_this_machine
from tests.factory import make_endpoint, make_run, make_user
from tests.judging.study import make_study, start_test_run

EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens


@pytest.mark.parametrize("word", ["0", "65536", "99999", "-1", "x"])
def test_a_port_that_cannot_be(word):
    with pytest.raises(CommandError, match="a number from 1 to 65535") as told:
        call_command("serve", f"--port={word}")
    assert told.value.returncode == 2


@pytest.mark.parametrize("word", ["0", "-1", "x"])
def test_threads_that_would_serve_nobody(word):
    with pytest.raises(CommandError, match="a number of 1 or more") as told:
        call_command("serve", f"--threads={word}")
    assert told.value.returncode == 2


@pytest.mark.django_db
def test_a_host_that_nobody_knows():
    with pytest.raises(CommandError, match=r"Unknown host: nowhere\.invalid") as told:
        call_command("serve", "--host", "nowhere.invalid", "--port", "8000")
    assert told.value.returncode == 2


class _Server:
    """What `serve` needs of waitress' server, on these addresses."""

    def __init__(self, application, addresses):
        self.application, self.was_closed, self.was_run = application, False, False
        self.effective_listen = [(address, "8000") for address in addresses]

    def close(self):
        self.was_closed = True

    def run(self):
        self.was_run = True


@pytest.fixture
def serve(monkeypatch, settings):
    """Serve without a socket: the server, as if it listened on some addresses."""
    settings.EMBEDDED_WORKER = False
    settings.ALLOWED_HOSTS = ["127.0.0.1"]

    def run(*addresses, out=None, **options):
        made = []

        def create_server(application, **_options):
            made.append(_Server(application, addresses))
            return made[0]

        monkeypatch.setattr("waitress.create_server", create_server)
        try:
            call_command("serve", "--host", addresses[0], stdout=out or StringIO(), **options)
        finally:
            (server,) = made
        return server

    return run


@pytest.mark.django_db
class TestKnownPasswords:
    @pytest.mark.parametrize("address", [EVERYWHERE, "127.0.0.2", "::", "192.0.2.1"])
    def test_no_server_elsewhere_while_one_works(self, serve, address):
        make_logins()
        with pytest.raises(CommandError, match="The password of demo-admin, ") as e:
            serve(address)
        assert f"cannot listen on {address}." in str(e.value)
        assert "\n" not in str(e.value)
        assert e.value.returncode == 2

    @pytest.mark.parametrize("addresses", [["127.0.0.1"], ["::1"], ["::1", "127.0.0.1"]])
    def test_on_this_machine_they_may_work(self, serve, addresses):
        make_logins()
        assert serve(*addresses).was_run

    def test_a_host_with_one_address_elsewhere_is_elsewhere(self, serve):
        make_logins()
        with pytest.raises(CommandError):
            serve("127.0.0.1", "192.0.2.1")

    def test_without_them_it_listens_where_it_should(self, serve):
        assert serve(EVERYWHERE).was_run

    def test_where_nobody_can_sign_in_it_says_how_to_begin(self, serve):
        serve("127.0.0.1", out=(out := StringIO()))
        assert "No accounts yet. Create the first: manage.py createsuperuser" in out.getvalue()

    @pytest.mark.parametrize(
        ("addresses", "is_here"), [(["127.0.0.1", "::1"], True), ([EVERYWHERE], False)]
    )
    def test_requests_know_where_it_listens(self, serve, monkeypatch, addresses, is_here):
        environs = []
        monkeypatch.setattr(
            "sensejudge_site.wsgi.application", lambda environ, _start: environs.append(environ)
        )
        serve(*addresses).application({"SERVER_NAME": "waitress.invalid"}, None)
        assert is_from_this_machine(environs[0]) is is_here


@pytest.mark.django_db
class TestUnfinishedRuns:
    @pytest.fixture
    def told(self, serve, settings, monkeypatch):
        """What serve says after a start, and what its worker was given to take up."""
        settings.EMBEDDED_WORKER = True
        given = []
        make_user()
        monkeypatch.setattr("sensejudge_site.embedded.start_embedded_worker", given.append)

        def run(**options):
            serve("127.0.0.1", out=(out := StringIO()), **options)
            return given.pop(), out.getvalue().splitlines()[:-1]

        return run

    def test_they_are_listed_with_what_remains_and_its_cost(self, told):
        endpoint = make_endpoint(name="paid", input_price=1)
        dataset, rater = make_study(comparisons=4)
        run = start_test_run(dataset=dataset, annotator=rater, judge="paid", with_sets=False)
        LlmCall.objects.create(key="1", run=run, endpoint=endpoint, request={}, cost="0.25")
        first = run.judgments.order_by("pk").first()
        run.judgments.filter(pk=first.pk).update(status="FAILED", error_code="llm:timeout")
        lexical = make_run(dataset, status="RUNNING")
        resumed, lines = told()
        assert resumed == [run, lexical]
        assert lines == [
            "Resuming unfinished runs (serve --no-resume leaves them):",
            f"  run {run.pk} (test, {dataset.slug}, {rater}, paid): 7 of 8 rows left, about 1.7500",
            f"  run {lexical.pk} (test, {dataset.slug}, lexical): 0 of 0 rows left, no cost",
        ]

    def test_they_can_be_declined(self, told):
        make_endpoint(name="unpriced")
        dataset, rater = make_study(comparisons=4)
        left = start_test_run(dataset=dataset, annotator=rater, judge="unpriced", with_sets=False)
        resumed, lines = told(no_resume=True)
        assert resumed is None
        assert lines[0] == "Unfinished runs that wait to be resumed on their pages:"
        assert lines[1].startswith(f"  run {left.pk} ")
        assert lines[1].endswith("8 of 8 rows left, cost unknown")

    def test_those_that_were_interrupted_wait_for_their_owners(self, told):
        left, interrupted = make_run(), make_run(status="PENDING", stage="judge")
        resumed, lines = told()
        assert resumed == [left]
        assert lines[2] == "Unfinished runs that wait to be resumed on their pages:"
        assert lines[3].startswith(f"  run {interrupted.pk} ")

    def test_those_of_other_processes_are_resumed_once_they_are_silent(self, told):
        beating = {"status": "RUNNING", "heartbeat_at": timezone.now()}
        run = make_run(**beating, worker="another-container 7 123")
        make_run(**beating | {"status": "DONE"})
        resumed, lines = told()
        assert resumed == []
        assert lines == [
            "Runs of other processes, resumed after 60 s without activity:",
            f"  run {run.pk} (test, {run.dataset.slug}, lexical): 0 of 0 rows left, no cost",
        ]

    def test_where_runs_are_declined_those_of_other_processes_are_not_told(self, told):
        make_run(status="RUNNING", heartbeat_at=timezone.now(), worker="another-container 7 123")
        assert told(no_resume=True) == (None, [])

    def test_nothing_is_said_where_there_are_none(self, told):
        make_run(status="DONE")
        assert told() == ([], [])

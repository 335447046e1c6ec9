"""Which environment variables an endpoint's key may be read from, and what is never sent."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.forms import modelform_factory

from judging.core.endpoints import SITE_SECRETS, Endpoint, may_hold_key
from judging.forms.endpoints import EndpointForm
from judging.models import ModelEndpoint
from judging.services import runs
from judging.services.endpoints import endpoint_of
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.study import dispatched, make_study, start_distillation
from tests.migrated import DEPLOYMENT
from tests.paths import ROOT
from tests.refusals import refuses

SECRETS = sorted(SITE_SECRETS)


@pytest.mark.parametrize("variable", ["", "LLM_API_KEY", "LLM_KEY_OF_OURS", "OPENAI_API_KEY"])
def test_these_may_hold_a_key(variable):
    assert may_hold_key(variable, listed={"OPENAI_API_KEY"})
    assert Endpoint("e", "http://127.0.0.1/v1", "m", variable, listed_variables={"OPENAI_API_KEY"})


@pytest.mark.parametrize("variable", [*SECRETS, "PGPASSWORD", "MY_LLM_KEY", "llm_key", "LLM"])
def test_no_endpoint_can_be_made_with_another(variable):
    assert not may_hold_key(variable, listed=())
    with refuses("llm:key-variable") as refused:
        Endpoint("e", "http://127.0.0.1/v1", "m", variable)
    assert refused.value.code == "llm:key-variable"


@pytest.mark.parametrize("variable", SECRETS)
def test_no_list_lets_the_site_s_own_secrets_out(variable):
    assert not may_hold_key(variable, listed=SITE_SECRETS)


class TestRows:
    pytestmark = pytest.mark.django_db

    @pytest.mark.parametrize("variable", [*SECRETS, "PGPASSWORD"])
    def test_the_console_refuses_it_beside_the_field(self, variable):
        form = modelform_factory(ModelEndpoint, EndpointForm, fields=["key_variable"])
        assert form({"key_variable": variable}).errors["key_variable"] == [
            "Use a variable that begins with LLM_ or is listed in LLM_KEY_VARIABLES."
        ]

    def test_a_listed_one_is_taken(self, settings):
        endpoint = make_endpoint(key_variable="OPENAI_API_KEY")
        with pytest.raises(ValidationError):
            endpoint.full_clean()
        settings.LLM_KEY_VARIABLES = frozenset({"OPENAI_API_KEY"})
        endpoint.full_clean()
        assert endpoint_of(endpoint).key_variable == "OPENAI_API_KEY"

    @pytest.mark.parametrize("variable", SECRETS)
    def test_the_database_refuses_the_site_s_own(self, variable):
        with pytest.raises(IntegrityError):
            make_endpoint(key_variable=variable)

    def test_a_row_that_came_otherwise_is_refused_before_a_call(self, monkeypatch):
        monkeypatch.setenv("PGPASSWORD", "hunter2")
        dataset, annotator = make_study(comparisons=4)
        with FakeLlm() as server:
            row = make_endpoint(base_url=server.base_url, key_variable="PGPASSWORD")
            with refuses("llm:key-variable"):
                start_distillation(dataset=dataset, annotator=annotator, judge=row.name)
        assert not server.headers

    def test_a_run_stops_with_the_reason_where_the_variable_is_no_longer_listed(self, settings):
        settings.LLM_KEY_VARIABLES = frozenset({"OPENAI_API_KEY"})
        dataset, annotator = make_study(comparisons=4)
        with FakeLlm() as server:
            row = make_endpoint(base_url=server.base_url, key_variable="OPENAI_API_KEY")
            run = start_distillation(dataset=dataset, annotator=annotator, judge=row.name)
            settings.LLM_KEY_VARIABLES = frozenset()
            (ids,) = dispatched(run).batches
            assert runs.run_batch(run.pk, 1, ids) is None
        run.refresh_from_db()
        assert (run.status, run.error_code) == ("FAILED", "llm:key-variable")
        assert not server.headers


def test_llm_check_sends_no_other_secret(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "the-secret")
    with FakeLlm() as server, pytest.raises(CommandError, match="llm:key-variable") as refused:
        call_command(
            "llm_check",
            *("--base-url", server.base_url, "--model", "m", "--key-variable", "SECRET_KEY"),
            stdout=StringIO(),
            stderr=StringIO(),
        )
    assert refused.value.returncode == 2
    assert not server.headers


class TestStart:
    """What the site says to its variables when it starts."""

    def started(self, tmp_path, code="", **variables):
        kept = {name: value for name, value in os.environ.items() if name not in DEPLOYMENT}
        return subprocess.run(
            [sys.executable, "-c", f"import sensejudge_site.settings as settings; {code}"],
            cwd=ROOT,
            env={**kept, "SENSEJUDGE_VAR": str(tmp_path), **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    @pytest.mark.parametrize("variable", ["SECRET_KEY", "DATABASE_URL", "PGPASSWORD"])
    def test_another_key_variable_is_refused(self, tmp_path, variable):
        ended = self.started(tmp_path, LLM_KEY_VARIABLE=variable)
        assert ended.returncode == 1
        assert f"LLM_KEY_VARIABLES, not {variable}." in ended.stderr

    def test_a_file_is_no_way_around(self, tmp_path):
        path = tmp_path / "name"
        path.write_text("SECRET_KEY")
        ended = self.started(tmp_path, LLM_KEY_VARIABLE_FILE=str(path))
        assert "LLM_KEY_VARIABLES, not SECRET_KEY." in ended.stderr

    def test_the_list_cannot_name_the_site_s_own_secrets(self, tmp_path):
        ended = self.started(tmp_path, LLM_KEY_VARIABLES="OPENAI_API_KEY,DATABASE_URL")
        assert ended.returncode == 1
        assert "must not list the site's own secrets: DATABASE_URL." in ended.stderr

    def test_a_listed_one_is_taken_and_a_secret_s_file_stays_out_of_the_environment(self, tmp_path):
        path = tmp_path / "secret"
        path.write_text("from-a-file")
        code = (
            "import os; assert settings.SECRET_KEY == 'from-a-file';"
            "assert 'from-a-file' not in os.environ.values();"
            "print(settings.LLM_KEY_VARIABLE)"
        )
        ended = self.started(
            tmp_path,
            code,
            SECRET_KEY="",
            SECRET_KEY_FILE=str(path),
            LLM_KEY_VARIABLE="OPENAI_API_KEY",
            LLM_KEY_VARIABLES="OPENAI_API_KEY",
        )
        assert ended.stdout.strip() == "OPENAI_API_KEY", ended.stderr

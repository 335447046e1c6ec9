"""An endpoint that goes by the name of a judge or a baseline could never be asked."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.forms import modelform_factory

from judging.core.endpoints import RESERVED_NAMES
from judging.core.satisfaction_baselines import NEAREST_NAMES
from judging.forms.endpoints import EndpointForm
from judging.models import ModelEndpoint
from tests.factory import make_endpoint

pytestmark = pytest.mark.django_db


def test_judges_and_baselines_are_reserved():
    assert {"lexical", "learned", "history_mean", *NEAREST_NAMES} <= RESERVED_NAMES
    assert "llm" not in RESERVED_NAMES  # the endpoint of the LLM_* settings


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_a_reserved_name_is_refused_in_words(name):
    endpoint = make_endpoint(name="mine")
    endpoint.name = name
    with pytest.raises(ValidationError, match=f"{name} is the name of a built-in judge"):
        endpoint.full_clean()


def test_the_console_says_so_beside_the_field():
    form = modelform_factory(ModelEndpoint, EndpointForm, fields=["name"])({"name": "learned"})
    assert form.errors["name"] == [
        "learned is the name of a built-in judge or baseline. Choose another name."
    ]


def test_the_database_refuses_it_as_well():
    with pytest.raises(IntegrityError):
        make_endpoint(name="learned")

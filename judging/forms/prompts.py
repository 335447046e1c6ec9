"""An edited prompt, as typed, and what a participant types in a live conversation."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.core.conversations import MAX_MESSAGE_CHARACTERS, Ending
from judging.core.prompt_edits import MOST_CHARACTERS
from judging.models import ConversationSetup, ModelEndpoint


class PromptForm(forms.Form):
    """The text, and the version on which it was written; what it breaks is for the service."""

    text = forms.CharField(
        label=_("Text"),
        strip=False,
        max_length=2 * MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 28, "spellcheck": "false"}),
    )
    since = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


class RestoreForm(forms.Form):
    """Taking an edited text back."""

    since = forms.IntegerField(min_value=0)


MAX_REQUIREMENTS: Final = 100


class MessageForm(forms.Form):
    """One message; the page's id of it comes along, so that it is stored once."""

    text = forms.CharField(max_length=MAX_MESSAGE_CHARACTERS, strip=True)
    submission = forms.UUIDField()


class TicksForm(forms.Form):
    """Which requirements are met."""

    met = forms.TypedMultipleChoiceField(
        coerce=int,
        required=False,
        choices=[(str(number), str(number)) for number in range(1, MAX_REQUIREMENTS + 1)],
    )


class EndForm(forms.Form):
    """Why a conversation ends."""

    ending = forms.ChoiceField(choices=[(each.value, each.value) for each in Ending])


class SetupForm(forms.ModelForm[ConversationSetup]):
    """With whom the participants of a study talk."""

    class Meta:
        model = ConversationSetup
        fields = ("endpoints", "system_prompt", "temperature", "max_tokens")
        widgets = {
            "endpoints": forms.CheckboxSelectMultiple,
            "system_prompt": forms.Textarea(attrs={"rows": 5}),
        }
        help_texts = {
            "endpoints": _(
                "Each conversation uses one of these models, balanced across participants and "
                "tasks. Participants never see which one."
            ),
            "system_prompt": _(
                "Instructions to the model before the conversation. Leave empty to use the "
                "task's own, if any."
            ),
            "temperature": _(
                "Use a value above 0, so that the same message can get different replies."
            ),
            "max_tokens": _("The endpoint's own limit still applies."),
        }

    def __init__(self, data: Any = None, *, instance: ConversationSetup) -> None:
        """Offer the endpoints in use, and those chosen before."""
        super().__init__(data, instance=instance)
        offered = ModelEndpoint.objects.filter(enabled=True)
        if instance.pk:
            offered |= ModelEndpoint.objects.filter(conversation_setups=instance)
        field = self.fields["endpoints"]
        assert isinstance(field, forms.ModelMultipleChoiceField)  # noqa: S101 - declared above
        field.queryset = offered.distinct().order_by("name")

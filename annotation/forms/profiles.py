"""The annotator profile as a form: an age, choices and tags, each of which can be left unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.profiles import CHOICES, OLDEST, YOUNGEST, ProfileField, stored_word
from annotation.models import AnnotatorProfile

UNSAID: Final = "-"
"""What is chosen so as not to answer; stored as nothing."""

LABELS: Final = {
    "gender": _("Gender"),
    "background": _("Field of study or work"),
    "occupation": _("Occupation"),
    "personality": _("Personality"),
    "daily_interests": _("Daily interests"),
    "travel_habits": _("Travel habits"),
    "dining_preferences": _("Dining preferences"),
    "spending_habits": _("Spending habits"),
    "other_aspects": _("Anything else that fits"),
}

WORDS: Final = {
    "Female": _("Female"),
    "Male": _("Male"),
    "Other": _("Other"),
    "Information science and technology": _("Information science and technology"),
    "Engineering and applied sciences": _("Engineering and applied sciences"),
    "Natural sciences": _("Natural sciences"),
    "Medicine and health sciences": _("Medicine and health sciences"),
    "Humanities and arts": _("Humanities and arts"),
    "Social and behavioural sciences": _("Social and behavioural sciences"),
    "Applied management and innovation": _("Applied management and innovation"),
    "Interdisciplinary and emerging fields": _("Interdisciplinary and emerging fields"),
    "Student": _("Student"),
    "Teacher": _("Teacher"),
    "Engineer": _("Engineer"),
    "Artist": _("Artist"),
    "Independent media": _("Independent media"),
    "Armed forces": _("Armed forces"),
    "Optimistic": _("Optimistic"),
    "Pessimistic": _("Pessimistic"),
    "Friendly": _("Friendly"),
    "Careful": _("Careful"),
    "Easy-going": _("Easy-going"),
    "Independent": _("Independent"),
    "Patient": _("Patient"),
    "Introverted": _("Introverted"),
    "Extroverted": _("Extroverted"),
    "Humorous": _("Humorous"),
    "Ambitious": _("Ambitious"),
    "Calm": _("Calm"),
    "Determined": _("Determined"),
    "Confident": _("Confident"),
    "Music": _("Music"),
    "Games": _("Games"),
    "Sport": _("Sport"),
    "Television": _("Television"),
    "Online shopping": _("Online shopping"),
    "Photography": _("Photography"),
    "Reading": _("Reading"),
    "Keeping pets": _("Keeping pets"),
    "Baking and cooking": _("Baking and cooking"),
    "Painting": _("Painting"),
    "Board games": _("Board games"),
    "Handicrafts": _("Handicrafts"),
    "Playing an instrument": _("Playing an instrument"),
    "Writing": _("Writing"),
    "Nature": _("Nature"),
    "Food trips": _("Food trips"),
    "Outdoor activities": _("Outdoor activities"),
    "Quiet places": _("Quiet places"),
    "Historic sites": _("Historic sites"),
    "Museums": _("Museums"),
    "Cultural trips": _("Cultural trips"),
    "Family trips": _("Family trips"),
    "Exhibitions": _("Exhibitions"),
    "Road trips": _("Road trips"),
    "Travel abroad": _("Travel abroad"),
    "Luxury hotels": _("Luxury hotels"),
    "Frequent business trips": _("Frequent business trips"),
    "Visiting relatives": _("Visiting relatives"),
    "Barbecue": _("Barbecue"),
    "Chinese food": _("Chinese food"),
    "Street food": _("Street food"),
    "Balanced diet": _("Balanced diet"),
    "Healthy food": _("Healthy food"),
    "Fast food": _("Fast food"),
    "Take-away": _("Take-away"),
    "Seafood": _("Seafood"),
    "Bakery": _("Bakery"),
    "Trying new things": _("Trying new things"),
    "Japanese food": _("Japanese food"),
    "Italian food": _("Italian food"),
    "Vegetarian food": _("Vegetarian food"),
    "Experience matters": _("Experience matters"),
    "Entertainment": _("Entertainment"),
    "Thrift": _("Thrift"),
    "Travel": _("Travel"),
    "Quality over quantity": _("Quality over quantity"),
    "Saving for the future": _("Saving for the future"),
    "Technology": _("Technology"),
    "Fashion": _("Fashion"),
    "Art": _("Art"),
    "Books": _("Books"),
    "Donations": _("Donations"),
    "Expensive tastes": _("Expensive tastes"),
    "Shares": _("Shares"),
    "Lives in a dormitory": _("Lives in a dormitory"),
    "Lives with family": _("Lives with family"),
    "Lives alone": _("Lives alone"),
    "Rents a home": _("Rents a home"),
    "Owns a home": _("Owns a home"),
    "Has a small pet": _("Has a small pet"),
    "Takes part in music": _("Takes part in music"),
    "Takes part in sport": _("Takes part in sport"),
    "Takes part in volunteering": _("Takes part in volunteering"),
    "Takes part in academic life": _("Takes part in academic life"),
    "Organises community activities": _("Organises community activities"),
    "Has many acquaintances": _("Has many acquaintances"),
    "Runs social media channels": _("Runs social media channels"),
    "Life is stressful": _("Life is stressful"),
}
"""The options in the reader's language, by how they are stored."""


class ProfileForm(forms.Form):
    """Every question has an answer, if only that it is left unsaid: nothing is empty by oversight.

    What a stored profile holds besides the options is offered too: sending the form keeps it.
    """

    age = forms.IntegerField(
        label=_("Age"),
        required=False,
        min_value=YOUNGEST,
        max_value=OLDEST,
        help_text=_("Optional."),
    )

    def __init__(self, data: QueryDict | None, profile: AnnotatorProfile | None) -> None:
        super().__init__(data)
        if profile is not None and profile.age.isdigit():
            self.initial["age"] = int(profile.age)
        for field in CHOICES:
            told = getattr(profile, field.name, None)
            before = [told] if isinstance(told, str) else list(told or [])
            known = [stored_word(field, str(value)) for value in before if value]
            self.fields[field.name] = _tags(field, known) if field.many else _choice(field, known)
            if profile is not None:
                chosen = known or [UNSAID]
                self.initial[field.name] = chosen if field.many else chosen[0]
        self.order_fields(["gender", "age"])

    def clean(self) -> dict[str, Any]:
        """Refuse tags together with having none."""
        cleaned = super().clean() or {}
        for field in CHOICES:
            chosen = cleaned.get(field.name, [])
            if field.many and UNSAID in chosen and len(chosen) > 1:
                self.add_error(field.name, _("Choose either tags or “None of these”, not both."))
        return cleaned

    def stored(self) -> dict[str, object]:
        """The fields of the profile, once the form is valid."""
        told = self.cleaned_data
        fields: dict[str, object] = {"age": "" if told["age"] is None else str(told["age"])}
        for field in CHOICES:
            chosen = told[field.name]
            if field.many:
                fields[field.name] = [value for value in chosen if value != UNSAID]
            else:
                fields[field.name] = "" if chosen == UNSAID else chosen
        return fields


def _options(field: ProfileField, known: Sequence[str]) -> list[tuple[str, Any]]:
    others = [value for value in known if value not in field.options]
    return [*((word, WORDS[word]) for word in field.options), *((each, each) for each in others)]


def _choice(field: ProfileField, known: Sequence[str]) -> forms.ChoiceField:
    unsaid = (UNSAID, _("Prefer not to say"))
    if len(field.options) <= 4:
        choices = [*_options(field, known), unsaid]
        return forms.ChoiceField(
            label=LABELS[field.name],
            choices=choices,
            widget=forms.RadioSelect,
            error_messages={"required": _("Choose an answer.")},
        )
    return forms.ChoiceField(
        label=LABELS[field.name],
        choices=[("", _("Choose…")), *_options(field, known), unsaid],
        error_messages={"required": _("Choose an answer.")},
    )


def _tags(field: ProfileField, known: Sequence[str]) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=LABELS[field.name],
        choices=[*_options(field, known), (UNSAID, _("None of these"))],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose all that apply, or “None of these”.")},
    )

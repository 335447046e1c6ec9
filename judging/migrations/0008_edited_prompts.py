"""A dataset's own versions of prompts."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


NAMES = [
    "judge_pair",
    "judge_pair_base",
    "judge_pair_letter",
    "judge_pair_letter_base",
    "distil_preference",
    "distil_aggregate",
    "rubric_pair_generic",
    "rubric_pair_generic_turns",
    "rubric_pair_thought",
    "rubric_pair_thought_turns",
    "rubric_pair_reference",
    "rubric_pair_reference_turns",
    "grade_generic",
    "grade_generic_turns",
    "grade_reference",
    "grade_reference_turns",
]


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_members_are_participants"),
        ("judging", "0007_reward_endpoints"),
    ]

    operations = [
        migrations.CreateModel(
            name="PromptOverride",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        choices=[(name, name) for name in NAMES],
                        max_length=60,
                        verbose_name="prompt",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("zh", "中文")],
                        max_length=2,
                        verbose_name="language",
                    ),
                ),
                ("text", models.TextField(verbose_name="text")),
                ("updated_at", models.DateTimeField(auto_now=True, verbose_name="changed")),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="prompts",
                        to="annotation.dataset",
                        verbose_name="dataset",
                    ),
                ),
            ],
            options={
                "verbose_name": "edited prompt",
                "verbose_name_plural": "edited prompts",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "name", "language"), name="edited_prompt_once"
                    )
                ],
            },
        ),
    ]

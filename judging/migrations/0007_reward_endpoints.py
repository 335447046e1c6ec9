"""Endpoints that score responses instead of writing."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0006_ablation_runs")]

    operations = [
        migrations.AddField(
            model_name="modelendpoint",
            name="has_scores",
            field=models.BooleanField(
                default=False,
                help_text="A reward model: the base URL takes a prompt and a response, and answers "
                "a number. It judges by grades alone.",
                verbose_name="scores responses",
            ),
        ),
    ]

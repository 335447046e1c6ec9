"""Runs that try out variants of the method."""

from __future__ import annotations

from django.db import migrations, models

KINDS = [
    ("DISTIL", "Distil and select preferences"),
    ("TEST", "Judge the test split"),
    ("GRADE", "Grade the responses of the test split"),
    ("ABLATION", "Ablation: judge the test split under variants"),
    ("SATISFACTION", "Satisfaction by turn"),
    ("RECORDED", "Recorded verdicts"),
]


class Migration(migrations.Migration):
    dependencies = [("judging", "0005_graded_runs")]

    operations = [
        migrations.RemoveConstraint(model_name="judgerun", name="run_kind_known"),
        migrations.AlterField(
            model_name="judgerun",
            name="kind",
            field=models.CharField(choices=KINDS, max_length=16, verbose_name="kind"),
        ),
        migrations.AddConstraint(
            model_name="judgerun",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", [kind for kind, _label in KINDS])),
                name="run_kind_known",
            ),
        ),
    ]

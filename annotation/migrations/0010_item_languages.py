from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Study items know their language; those of existing studies keep their order."""

    dependencies = [("annotation", "0009_invitations_end")]

    operations = [
        migrations.AddField(
            model_name="studyitem",
            name="language",
            field=models.CharField(
                blank=True, default="", max_length=16, verbose_name="language"
            ),
        ),
    ]

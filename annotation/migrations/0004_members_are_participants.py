from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The participants copied by the migration before take the place of the plain table of members."""

    dependencies = [
        ('annotation', '0003_participation'),
    ]

    operations = [
        migrations.RemoveField(model_name='study', name='annotators'),
        migrations.AddField(
            model_name='study',
            name='annotators',
            field=models.ManyToManyField(blank=True, related_name='studies', through='annotation.Participation', to=settings.AUTH_USER_MODEL, verbose_name='annotators'),
        ),
    ]

from datetime import timedelta

from django.db import migrations, models
from django.utils import timezone


def end_in_a_month(apps, schema_editor):
    """A link that would have gone on for ever ends in a month, time enough to make another one."""
    apps.get_model('annotation', 'Invitation').objects.filter(
        places__isnull=True, expires_at__isnull=True
    ).update(expires_at=timezone.now() + timedelta(days=30))


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0008_name_looks'),
    ]

    operations = [
        migrations.RunPython(end_in_a_month, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('places__isnull', False), ('expires_at__isnull', False), _connector='OR'), name='invitation_ends'),
        ),
    ]

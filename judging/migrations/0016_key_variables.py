import django.core.validators
from django.db import migrations, models

import judging.models.engine


def forget_site_secrets(apps, schema_editor):
    """An endpoint that named one of the site's own secrets goes without a key until it names another."""
    apps.get_model('judging', 'ModelEndpoint').objects.filter(
        key_variable__in=['CELERY_BROKER_URL', 'DATABASE_URL', 'SECRET_KEY']
    ).update(key_variable='')


class Migration(migrations.Migration):

    dependencies = [
        ('judging', '0015_submissions'),
    ]

    operations = [
        migrations.RunPython(forget_site_secrets, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='modelendpoint',
            name='key_variable',
            field=models.CharField(blank=True, default='', help_text='Its name begins with LLM_, or stands in LLM_KEY_VARIABLES.', max_length=80, validators=[django.core.validators.RegexValidator('^[A-Z][A-Z0-9_]*\\Z', 'Use capital letters, digits and _.'), judging.models.engine.validate_key_variable], verbose_name='environment variable of the key'),
        ),
        migrations.AddConstraint(
            model_name='modelendpoint',
            constraint=models.CheckConstraint(condition=models.Q(('key_variable__in', ['CELERY_BROKER_URL', 'DATABASE_URL', 'SECRET_KEY']), _negated=True), name='endpoint_key_no_site_secret'),
        ),
    ]

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.users
from annotation.core.lookalikes import looks


def store_looks(apps, schema_editor):
    """What the names of those who may sign in look like.

    Of two who look alike already the one who came first holds the name; the other keeps theirs until
    somebody next edits it, and is asked for another one then.
    """
    name_look = apps.get_model('annotation', 'NameLook')
    rows = apps.get_model('annotation', 'User').objects.filter(is_active=True).order_by('pk')
    found = {}
    for pk, *names in rows.values_list('pk', 'username', 'display_name'):
        for name in names:
            for look in sorted(looks(name)):
                found.setdefault(look, pk)
    name_look.objects.bulk_create(
        (name_look(look=look, user_id=pk) for look, pk in found.items()), batch_size=500
    )


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0007_submissions'),
    ]

    operations = [
        migrations.AlterField(
            model_name='user',
            name='display_name',
            field=models.CharField(blank=True, default='', max_length=150, validators=[annotation.models.users.validate_name], verbose_name='shown name'),
        ),
        migrations.AlterField(
            model_name='user',
            name='username',
            field=models.CharField(max_length=150, unique=True, validators=[django.core.validators.RegexValidator('^[\\w.@+:\\- ]+\\Z', 'Use letters, digits and . @ + : - _'), annotation.models.users.validate_name], verbose_name='user name'),
        ),
        migrations.CreateModel(
            name='NameLook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('look', models.CharField(max_length=64, unique=True, verbose_name='look')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='name_looks', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'look of a name',
                'verbose_name_plural': 'looks of names',
            },
        ),
        migrations.RunPython(store_looks, migrations.RunPython.noop),
    ]

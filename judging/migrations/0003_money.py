import django.core.validators
import django.db.models.deletion
import judging.models.engine
from django.db import migrations, models


ROWS = ('Preference', 'Judgment', 'UserMemory', 'SatisfactionJudgment')


def price_cached_tokens(apps, _schema_editor):
    """A price of 0 for cached tokens meant that nobody had given one."""
    apps.get_model('judging', 'ModelEndpoint').objects.filter(
        input_price__gt=0, cached_input_price=0
    ).update(cached_input_price=None)


def say_who_paid(apps, _schema_editor):
    """A call was paid for by the first run that used it and was there when the reply came."""
    calls = apps.get_model('judging', 'LlmCall').objects
    runs = apps.get_model('judging', 'JudgeRun').objects
    for run_id, created_at in runs.order_by('pk').values_list('pk', 'created_at'):
        for name in ROWS:
            used = apps.get_model('judging', name).objects.filter(run_id=run_id)
            calls.filter(
                run=None, created_at__gte=created_at, pk__in=used.values('call_id')
            ).update(run_id=run_id)
        spent = calls.filter(run_id=run_id).aggregate(cost=models.Sum('cost'))['cost']
        if spent:
            runs.filter(pk=run_id).update(held=spent)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0001_initial'),
        ('judging', '0002_learned_model'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='judgerun',
            name='run_status_known',
        ),
        migrations.AddField(
            model_name='judgerun',
            name='budget',
            field=models.DecimalField(blank=True, decimal_places=4, max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='budget'),
        ),
        migrations.AddField(
            model_name='judgerun',
            name='held',
            field=models.DecimalField(decimal_places=8, default=0, max_digits=20, verbose_name='spent or held'),
        ),
        migrations.AddField(
            model_name='llmcall',
            name='run',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='calls', to='judging.judgerun', verbose_name='paid for by'),
        ),
        migrations.AddField(
            model_name='modelendpoint',
            name='batch_price_share',
            field=models.DecimalField(decimal_places=3, default=1, help_text='0.5 where the provider answers batch files for half the price.', max_digits=4, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='price in batch files, as a share'),
        ),
        migrations.AddField(
            model_name='modelendpoint',
            name='extra_sampling',
            field=models.JSONField(blank=True, default=dict, help_text='A JSON object sent with every request, such as {"reasoning_effort": "low"}; null leaves out a field, such as {"temperature": null}.', validators=[judging.models.engine.validate_extra_sampling], verbose_name='further fields of a request'),
        ),
        migrations.AlterField(
            model_name='judgerun',
            name='status',
            field=models.CharField(choices=[('PENDING', 'Waiting'), ('RUNNING', 'Running'), ('DONE', 'Done'), ('FAILED', 'Failed'), ('CANCELLED', 'Cancelled'), ('BATCH', 'Waiting for a batch file')], default='PENDING', max_length=10, verbose_name='status'),
        ),
        migrations.AlterField(
            model_name='modelendpoint',
            name='cached_input_price',
            field=models.DecimalField(blank=True, decimal_places=4, help_text='Empty: the price of other input tokens.', max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price of 1M cached input tokens'),
        ),
        migrations.AlterField(
            model_name='modelendpoint',
            name='input_price',
            field=models.DecimalField(decimal_places=4, default=0, max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price of 1M input tokens'),
        ),
        migrations.AlterField(
            model_name='modelendpoint',
            name='output_price',
            field=models.DecimalField(decimal_places=4, default=0, max_digits=10, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price of 1M output tokens'),
        ),
        migrations.AddConstraint(
            model_name='judgerun',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['PENDING', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED', 'BATCH'])), name='run_status_known'),
        ),
        migrations.AddConstraint(
            model_name='judgerun',
            constraint=models.CheckConstraint(condition=models.Q(('budget__isnull', True), ('budget__gte', 0), _connector='OR'), name='run_budget_not_negative'),
        ),
        migrations.RunPython(price_cached_tokens, migrations.RunPython.noop),
        migrations.RunPython(say_who_paid, migrations.RunPython.noop),
    ]

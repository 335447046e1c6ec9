from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0010_item_languages'),
    ]

    operations = [
        migrations.AddField(
            model_name='dataset',
            name='staged_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]

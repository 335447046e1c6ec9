import pytest

from judging.core.rules import (
    SPECS,
    Level,
    SatisfactionSettings,
    Variant,
    variant_of,
    variants_at,
)
from tests.refusals import refuses


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("variant", Variant)
def test_a_variant_without_a_prompt_at_a_level_is_refused(variant, level):
    if variant in variants_at(level):
        assert SatisfactionSettings(variant=variant, level=level).level is level
    else:
        with refuses("run:variant-level") as caught:
            SatisfactionSettings(variant=variant, level=level)
        assert caught.value.code == "run:variant-level"


def test_a_variant_is_named_by_its_word():
    assert [variant_of(variant.word) for variant in Variant] == list(Variant)
    with pytest.raises(ValueError, match="GUESS"):
        variant_of("guess")


def test_a_variant_is_shown_memories_or_what_training_users_taught():
    memory = {"checklist", "boundary", "two-stage", "task-guarded"}
    for variant, spec in SPECS.items():
        settings = SatisfactionSettings(variant=variant, level=next(iter(spec.prompts)))
        assert settings.with_memory is (variant.word in memory)
        assert spec.need.personal is (variant.word in memory | {"retrieval"})
        assert spec.need.from_training is (variant.word in {"few-shot", "spur"})

"""What RockdoveElastic may say."""

import pytest

from rockdove.core.elastic import Elastic, ElasticError, ScalingPolicy, Sla, read


def test_what_is_not_said_has_a_default() -> None:
    assert read("{}") == Elastic()
    assert read("{}").pool_size == 0


def test_everything_can_be_said() -> None:
    text = (
        '{"periodS": 2.5, "minLoad": 0, "maxLoad": 10, "minWorkers": 2, "maxWorkers": 20, "slots": 4, "pool": 3, '
        '"safetyS": 7, "policy": "model"}'
    )
    assert read(text) == Elastic(
        period_s=2.5,
        min_load=0,
        max_load=10,
        min_workers=2,
        max_workers=20,
        slots=4,
        pool=3,
        safety_s=7,
        policy=ScalingPolicy.MODEL,
    )
    assert read(text).pool_size == 3


def test_the_pool_follows_from_the_agreement() -> None:
    assert read('{"sla": {"delta": 4, "startupS": 96.9, "capacity": 200}}').pool_size == 2
    assert Sla(delta=0.1, startup_s=30, capacity=1).pool == 3
    assert Sla(delta=4, startup_s=50, capacity=200).pool == 1
    assert Sla(delta=0, startup_s=50, capacity=200).pool == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Must be a JSON object"),
        ("[]", "Must be a JSON object"),
        ("[" * 2_000, "Must be a JSON object"),
        ('{"minload": 1}', "There is no minload; there are periodS, minLoad"),
        ('{"periodS": 0}', "periodS must be a number from 0.1 to 3,600, not 0"),
        ('{"periodS": "5"}', 'periodS must be a number from 0.1 to 3,600, not "5"'),
        ('{"periodS": true}', "periodS must be a number from 0.1 to 3,600, not true"),
        ('{"periodS": null}', "periodS must be a number from 0.1 to 3,600, not null"),
        ('{"slots": 1.5}', "slots must be a whole number from 1 to 1,000, not 1.5"),
        ('{"maxWorkers": 1001}', "maxWorkers must be a whole number from 1 to 1,000, not 1001"),
        ('{"minWorkers": 11}', "minWorkers must be at most maxWorkers, which is 10, not 11"),
        ('{"minLoad": 50, "maxLoad": 50}', "minLoad must be below maxLoad, which is 50, not 50"),
        ('{"policy": "best"}', "policy must be one of paper, model, keda, aws, least-loaded"),
        ('{"policy": {}}', "policy must be one of"),
        ('{"sla": 3}', "sla must be an object"),
        ('{"sla": {"delta": 1, "startupS": 1}}', "there is no capacity"),
        ('{"sla": {"delta": 1, "startupS": 1, "capacity": 0}}', "sla.capacity must be a number from 0.001"),
        ('{"sla": {"delta": 1, "startupS": 1, "capacity": 1, "x": 1}}', "There is no sla.x"),
        ('{"pool": 1, "sla": {"delta": 1, "startupS": 1, "capacity": 1}}', "pool and sla do not go together"),
        ('{"sla": {"delta": 1e9, "startupS": 1, "capacity": 1}}', "must be at most 1000 machines"),
    ],
)
def test_what_is_wrong_is_refused_with_the_range(text: str, told: str) -> None:
    with pytest.raises(ElasticError) as caught:
        read(text)
    assert told in str(caught.value)


def test_min_load_follows_max_load_unless_it_is_given() -> None:
    assert read('{"maxLoad": 50}').min_load == 12.5
    assert read('{"maxLoad": 1000}').min_load == 250
    assert read("{}").min_load == 50
    assert read('{"minLoad": 7, "maxLoad": 50}').min_load == 7

"""Chance that can be repeated: every test that throws dice names its seed when it fails."""

import os
import random

import pytest

SEED = "TEST_SEED"


@pytest.fixture
def rng() -> random.Random:
    """Set TEST_SEED to repeat a run."""
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(1 << 32))
    print(f"to repeat: {SEED}={seed}")
    return random.Random(seed)

"""Numbers for the tests of this folder, the same whatever ran before."""

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)

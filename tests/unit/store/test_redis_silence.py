"""A Redis server is taken for dead when it is silent, and not when this process was busy and did not listen."""

from rockdove.store.redis.silence import LOOK_S, PATIENCE_S, Silence


def test_a_server_that_is_silent_is_found_out() -> None:
    silence = Silence(0.0)
    looks = [at * LOOK_S for at in range(1, 20)]
    given_up = next(now_s for now_s in looks if silence.lasts(0.0, now_s) > PATIENCE_S)
    assert PATIENCE_S < given_up < PATIENCE_S + 2 * LOOK_S


def test_the_time_in_which_nobody_listened_does_not_count() -> None:
    silence = Silence(0.0)
    assert silence.lasts(0.0, 5.0) <= 2 * LOOK_S
    assert silence.lasts(0.0, 10.0) <= 4 * LOOK_S


def test_whatever_is_heard_ends_it() -> None:
    silence = Silence(0.0)
    for at in range(1, 7):
        silence.lasts(0.0, at * LOOK_S)
    assert silence.lasts(None, 0.7) == 0
    assert silence.lasts(0.75, 0.8) <= LOOK_S

"""Records of accounts."""

from msgspec.structs import replace

from rockdove.core.account import Account, Key
from tests.support.store import Bench


def account(number: int = 1, **fields: object) -> Account:
    values: dict[str, object] = {"id": f"{number:012d}", "name": f"name-{number}", "created_us": number}
    return Account(**(values | fields))  # type: ignore[arg-type]


def by_id(accounts: list[Account]) -> list[Account]:
    return sorted(accounts, key=lambda account: account.id)


def test_a_new_store_has_none(bench: Bench) -> None:
    assert (bench.snapshot.accounts, bench.snapshot.former_accounts) == ([], [])


def test_accounts_come_back(bench: Bench) -> None:
    keys = [Key("RDAK1", "sealed", 1), Key("RDAK2", "sealed too", 2)]
    one = account(1, admin=True, keys=keys, password="$argon2id$ü")
    two = account(2, enabled=False)
    bench.put_account(one)
    bench.put_account(two)
    bench.reopen()
    assert by_id(bench.snapshot.accounts) == [one, two]


def test_a_record_is_replaced(bench: Bench) -> None:
    bench.put_account(account())
    changed = replace(account(), name="other", enabled=False, keys=[Key("RDAK3", "s", 3)])
    bench.put_account(changed)
    bench.reopen()
    assert bench.snapshot.accounts == [changed]


def test_only_what_was_put_counts(bench: Bench) -> None:
    kept = account()
    bench.put_account(kept)
    kept.keys.append(Key("RDAK4", "s", 4))
    bench.reopen()
    assert bench.snapshot.accounts == [account()]


def test_of_a_dropped_account_the_id_is_remembered(bench: Bench) -> None:
    for number in (1, 2, 3):
        bench.put_account(account(number))
    bench.drop_account(account(2).id)
    bench.reopen()
    assert by_id(bench.snapshot.accounts) == [account(1), account(3)]
    assert bench.snapshot.former_accounts == [account(2).id]


def test_accounts_are_apart_from_queues(bench: Bench) -> None:
    queue = bench.queue()
    queue.send("a")
    bench.put_account(account(0))
    bench.drop_account(account(0).id)
    bench.reopen()
    assert bench.snapshot.queues == [queue.record]
    assert queue.read() == ["a"]


def test_what_is_done_survives_a_crash(durable: Bench) -> None:
    durable.put_account(account(1))
    durable.put_account(account(2))
    durable.drop_account(account(1).id)
    durable.crash()
    assert durable.snapshot.accounts == [account(2)]
    assert durable.snapshot.former_accounts == [account(1).id]

"""A full disk: sends are refused and told why, messages still get out, and all goes on by itself when there is room."""

import json
import random
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rockdove.store.sqlite.room import RESERVE
from tests.support.mount import fill, free_bytes, small_disk
from tests.support.raw import Web
from tests.support.server import COMMAND, Server

SIZE_BYTES = 48 * 1024 * 1024
BODY = "x" * 8_000
# What the service notices by itself, it notices within seconds.
PATIENCE_S = 120


@contextmanager
def small_service(folder: Path, size_bytes: int) -> Iterator[Server]:
    """A service whose data folder is a disk of its own, of that size."""
    with small_disk(folder / "data", size_bytes):
        server = Server(folder)
        try:
            yield server
        finally:
            if server.process.exit_code is None:
                server.kill()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Server]:
    with small_service(tmp_path, SIZE_BYTES) as server:
        yield server


def send(sqs: Any, url: str, number: int, start: int = 0) -> set[str]:
    """Send batches until there are so many, or until it is refused; those that were acknowledged."""
    sent: set[str] = set()
    while len(sent) < number:
        bodies = [f"{start + len(sent) + n}:{BODY}" for n in range(10)]
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
        answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        assert len(answer.get("Successful", [])) == 10, answer
        sent.update(body.partition(":")[0] for body in bodies)
    return sent


def send_until_full(sqs: Any, url: str, start: int = 0) -> set[str]:
    sent: set[str] = set()
    for _ in range(10_000):
        try:
            sent |= send(sqs, url, 10, start + len(sent))
        except ClientError as error:
            check_full(error)
            return sent
    raise AssertionError("the disk is never full")


def check_full(error: ClientError) -> None:
    assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    assert error.response["Error"]["Code"] == "ServiceUnavailable"
    assert "disk is full" in error.response["Error"]["Message"]


def drain(sqs: Any, url: str, most: int = 1_000_000) -> set[str]:
    found: set[str] = set()
    while len(found) < most:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages")
        if not messages:
            break
        entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
        assert len(sqs.delete_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == len(messages)
        found.update(message["Body"].partition(":")[0] for message in messages)
    return found


def wait_for_room(sqs: Any, url: str, start: int) -> set[str]:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return send(sqs, url, 10, start)
        except ClientError:
            assert time.monotonic() < end, "sends are still refused"
            time.sleep(0.2)


def queue(sqs: Any) -> str:
    url: str = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    return url


def wait_for_reserve(service: Server) -> None:
    end = time.monotonic() + PATIENCE_S
    while not (service.data / RESERVE).exists():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("number", [500, 20])
def test_others_fill_the_disk(service: Server, number: int) -> None:
    sqs = service.client()
    url = queue(sqs)
    sent = send(sqs, url, number)
    wait_for_reserve(service)
    filler = fill(service.data)
    sent |= send_until_full(sqs, url, len(sent))
    with pytest.raises(ClientError, match="disk is full"):
        sqs.create_queue(QueueName="another")
    found = drain(sqs, url, most=len(sent) // 2)
    sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    # A service that is taken out of rotation could not be drained.
    web = Web(service.port)
    assert web.get("/ready").status == 200
    web.close()
    filler.unlink()
    sent |= wait_for_room(sqs, url, 10_000)
    wait_for_reserve(service)
    assert found | drain(sqs, url) == sent
    assert service.stop() == 0


def test_messages_fill_the_disk(service: Server) -> None:
    sqs = service.client()
    url = queue(sqs)
    sent = send_until_full(sqs, url)
    assert len(sent) * len(BODY) > SIZE_BYTES // 3
    assert drain(sqs, url) == sent
    again = wait_for_room(sqs, url, 10_000)
    again |= send(sqs, url, len(sent) // 2, 20_000)
    service.kill()
    service.start()
    sqs = service.client()
    assert drain(sqs, url) == again
    assert service.stop() == 0


@pytest.mark.parametrize("body_bytes", [1_000, 5_000])
def test_a_batch_that_fills_the_disk_gets_out(tmp_path: Path, body_bytes: int) -> None:
    """What is published lands although there is no room for more, and so the disk does not stay full.

    5,000 bytes take a page and a part of another when they land, and less as long as they are staged.
    """
    with small_service(tmp_path, SIZE_BYTES // 2) as service:
        sqs, web = service.client(), Web(service.port)
        url = queue(sqs)
        named = {"QueueUrl": url, "Application": "a", "Batch": 0}
        for chunk in range(1_000):
            entries = [{"Id": str(n), "MessageBody": f"{chunk}-{n}:{BODY[:body_bytes]}"} for n in range(100)]
            asked = {**named, "Attempt": "one", "Chunk": chunk, "Entries": entries}
            if web.call("Rockdove.StageBatch", asked).status == 503:
                break
        attempts = [{"Attempt": "one", "Chunks": chunk}]
        assert web.call("Rockdove.PublishBatch", {**named, "Attempts": attempts}).json["Messages"] == 100 * chunk
        web.close()
        service.kill()
        service.start()
        sqs, web = service.client(), Web(service.port)
        assert drain(sqs, url) == {f"{at}-{n}" for at in range(chunk) for n in range(100)}
        assert web.call("Rockdove.PublishBatch", {**named, "Attempts": attempts}).json["Landed"]
        web.close()
        wait_for_room(sqs, url, 10_000)
        assert service.stop() == 0


def test_dead_letters_do_not_stop_receives(tmp_path: Path) -> None:
    with small_service(tmp_path, SIZE_BYTES // 2) as service:
        sqs = service.client()
        letters = sqs.create_queue(QueueName="letters", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
        url = queue(sqs)
        sent = send(sqs, url, 500)
        # They have had their deliveries, and are visible again.
        for _ in range(50):
            sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=5)
        arn = sqs.get_queue_attributes(QueueUrl=letters, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})
        wait_for_reserve(service)
        time.sleep(5)
        filler = fill(service.data)
        found = drain_all(sqs, url, letters, len(sent) // 2)
        assert found, "messages get out while the disk is full"
        service.kill()
        service.start()
        sqs = service.client()
        found |= drain_all(sqs, url, letters, len(sent))
        assert found == sent
        filler.unlink()
        wait_for_room(sqs, url, 10_000)
        assert service.stop() == 0


def test_a_move_task_waits_for_room(tmp_path: Path) -> None:
    with small_service(tmp_path, SIZE_BYTES) as service:
        sqs = service.client()
        letters = sqs.create_queue(QueueName="letters")["QueueUrl"]
        url = queue(sqs)
        arns = [
            sqs.get_queue_attributes(QueueUrl=each, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
            for each in (letters, url)
        ]
        policy = json.dumps({"deadLetterTargetArn": arns[0], "maxReceiveCount": 1})
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})
        sent = send(sqs, letters, 600)
        wait_for_reserve(service)
        sqs.start_message_move_task(SourceArn=arns[0], DestinationArn=arns[1], MaxNumberOfMessagesPerSecond=200)
        filler = fill(service.data)

        def status() -> str:
            (task,) = sqs.list_message_move_tasks(SourceArn=arns[0])["Results"]
            return str(task["Status"])

        # As long as it would take, if there were room.
        time.sleep(5)
        assert status() == "RUNNING"
        filler.unlink()
        end = time.monotonic() + PATIENCE_S
        while status() == "RUNNING" and time.monotonic() < end:
            time.sleep(0.2)
        assert status() == "COMPLETED"
        assert drain(sqs, url) == sent
        assert service.stop() == 0


def drain_all(sqs: Any, url: str, letters: str, most: int) -> set[str]:
    """Of a queue and its dead-letter queue; what is hidden there is waited for."""
    found: set[str] = set()
    end = time.monotonic() + PATIENCE_S
    while len(found) < most and time.monotonic() < end:
        more = drain(sqs, url) | drain(sqs, letters)
        found |= more
        if not more:
            counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
            if counts["ApproximateNumberOfMessagesNotVisible"] == counts["ApproximateNumberOfMessages"] == "0":
                break
            time.sleep(0.2)
    return found


def test_a_full_disk_at_the_start(service: Server) -> None:
    sqs = service.client()
    url = queue(sqs)
    sent = send(sqs, url, 500)
    wait_for_reserve(service)
    assert service.stop() == 0
    fill(service.data)
    assert free_bytes(service.data) == 0
    service.start()
    sqs = service.client()
    refused = send_until_full(sqs, url, 10_000)
    assert drain(sqs, url) == sent | refused
    assert service.stop() == 0


def test_a_full_disk_without_a_reserve_refuses_to_start(service: Server) -> None:
    sqs = service.client()
    sent = send(sqs, queue(sqs), 100)
    assert service.stop() == 0
    (service.data / RESERVE).unlink(missing_ok=True)
    filler = fill(service.data)
    command = [*COMMAND, "serve", "--port", "0", "--data", str(service.data)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 1
    assert "no room" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    filler.unlink()
    service.start()
    sqs = service.client()
    assert drain(sqs, queue(sqs)) == sent
    assert service.stop() == 0


def test_a_backup_of_and_to_a_full_disk(service: Server, tmp_path: Path) -> None:
    sqs = service.client()
    url = queue(sqs)
    sent = send(sqs, url, 1_000)
    fill(service.data)
    command = [*COMMAND, "backup", "--data", str(service.data)]
    with small_disk(tmp_path / "other", SIZE_BYTES) as other:
        filler = fill(other)
        to_full = subprocess.run([*command, str(other / "copy")], capture_output=True, text=True, check=False)
        assert to_full.returncode == 1
        assert "room" in to_full.stderr or "space" in to_full.stderr
        assert list(other.iterdir()) == [filler]
    subprocess.run([*command, str(tmp_path / "copy")], capture_output=True, check=True)
    copied = Server(tmp_path / "second", "--data", str(tmp_path / "copy"))
    try:
        assert drain(copied.client(), url.replace(str(service.port), str(copied.port))) == sent
    finally:
        copied.kill()


# Megabytes of disk, bytes of a body, and how many send at once.
CROWDS = [(48, 1_000_000, 8), (24, 200_000, 1), (48, 50_000, 30)]


@pytest.mark.parametrize(("size_mb", "body_bytes", "senders"), CROWDS)
def test_many_large_messages_fill_the_disk(tmp_path: Path, size_mb: int, body_bytes: int, senders: int) -> None:
    """No log grows that cannot be copied back: what was acknowledged gets out, and then sends are taken again."""
    with small_disk(tmp_path / "data", size_mb * 1024 * 1024):
        service = Server(tmp_path)
        try:
            sqs = service.client()
            url = queue(sqs)
            body = "x" * body_bytes

            def send_all(sender: int) -> set[str]:
                client, sent = service.client(), set[str]()
                for n in range(100_000):
                    name = f"{sender}-{n}"
                    try:
                        client.send_message(QueueUrl=url, MessageBody=f"{name}:{body}")
                    except ClientError as error:
                        check_full(error)
                        return sent
                    sent.add(name)
                raise AssertionError("the disk is never full")

            with ThreadPoolExecutor(senders) as pool:
                sent = set[str]().union(*pool.map(send_all, range(senders)))
            assert len(sent) * body_bytes > size_mb * 1024 * 1024 // 2
            assert drain(sqs, url) == sent
            again = wait_for_room(sqs, url, 0)
            assert drain(sqs, url) == again
            assert service.stop() == 0
            told = service.process.err.read_text().splitlines()
            # Told once; and very large ones, which are refused before others, once, too.
            numbers = [len([line for line in told if words in line]) for words in ("disk is full", "no room for")]
            assert max(numbers) == 1, told
        finally:
            if service.process.exit_code is None:
                service.kill()


def test_many_small_messages_can_all_be_received_hidden_and_deleted(tmp_path: Path) -> None:
    """To receive them makes the database grow: their rows get longer, and the index loses its order."""
    draw = random.Random(7)
    with small_service(tmp_path, 10 * 1024 * 1024) as service:
        web = Web(service.port)
        url = web.create("q")
        entries = [{"Id": str(n), "MessageBody": "x"} for n in range(10)]
        sent = 0
        while web.call("SendMessageBatch", {"QueueUrl": url, "Entries": entries}).json.get("Successful"):
            sent += len(entries)
        handles: list[str] = []
        while len(handles) < sent:
            hidden = draw.randint(10_000, 43_000)
            more = {"MaxNumberOfMessages": 100, "VisibilityTimeout": hidden}
            reply = web.call("Rockdove.Receive", {"QueueUrl": url, **more})
            assert reply.status == 200, reply.json
            handles += [message["ReceiptHandle"] for message in reply.json["Messages"]]
        draw.shuffle(handles)
        for at in range(0, len(handles) // 4, 10):
            changes = [
                {"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": draw.randint(5_000, 43_000)}
                for n, handle in enumerate(handles[at : at + 10])
            ]
            assert not web.call("ChangeMessageVisibilityBatch", {"QueueUrl": url, "Entries": changes}).json.get(
                "Failed"
            )
        for at in range(0, len(handles), 10):
            gone = [{"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(handles[at : at + 10])]
            assert not web.call("DeleteMessageBatch", {"QueueUrl": url, "Entries": gone}).json.get("Failed")
        web.close()
        assert service.stop() == 0


def test_a_request_that_is_too_large_is_refused_alone(tmp_path: Path) -> None:
    """Others go on, and when there is room again nobody has to wait for room for that one."""
    with small_service(tmp_path, 128 * 1024 * 1024) as service:
        sqs, web = service.client(), Web(service.port)
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        kept = sqs.create_queue(QueueName="kept")["QueueUrl"]
        send(sqs, kept, 1_000)
        sent = send_until_full(sqs, url)
        for message in _some(sqs, url, 100):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        large = [{"Id": str(n), "MessageBody": "y" * 1_000_000} for n in range(8)]
        staged = {"QueueUrl": url, "Application": "a", "Batch": 0, "Attempt": "x", "Chunk": 0, "Entries": large}
        assert web.call("Rockdove.StageBatch", staged).status == 503
        deleted = 100
        while messages := _some(sqs, url, 10):
            entries = [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(messages)]
            assert not sqs.delete_message_batch(QueueUrl=url, Entries=entries).get("Failed")
            deleted += len(messages)
        assert deleted == len(sent)
        end = time.monotonic() + PATIENCE_S
        while web.call("SendMessage", {"QueueUrl": url, "MessageBody": "tiny"}).status != 200:
            assert time.monotonic() < end, "sends are refused, and most of the file is free"
            time.sleep(0.5)
        # It may still be too large, as long as the file has not grown smaller. Nobody else notices.
        assert web.call("Rockdove.StageBatch", staged).status in (200, 503)
        assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "tiny"}).status == 200
        web.close()


def _some(sqs: Any, url: str, number: int) -> list[dict[str, Any]]:
    """Up to so many messages."""
    found: list[dict[str, Any]] = []
    while len(found) < number:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        if not messages:
            break
        found += messages
    return found

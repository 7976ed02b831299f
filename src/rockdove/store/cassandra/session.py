"""Statements to Cassandra from the event loop: the driver runs in its own thread, and answers come back in bursts."""

import asyncio
import itertools
import logging
import math
import re
import secrets
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any

from cassandra import (
    ConsistencyLevel,
    CoordinationFailure,
    DriverException,
    InvalidRequest,
    OperationTimedOut,
    RequestExecutionException,
    Timeout,
    Unauthorized,
    Unavailable,
    UnresolvableContactPoints,
    WriteType,
)
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.cluster import Session as DriverSession
from cassandra.connection import ConnectionBusy, ConnectionException
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.protocol import SyntaxException
from cassandra.query import BatchStatement, BatchType, BoundStatement, PreparedStatement, tuple_factory

from rockdove.core.errors import DataFolderError, StoreError, StoreInterrupted
from rockdove.store.base import Done
from rockdove.store.cassandra.address import Address
from rockdove.store.cassandra.schema import KEYSPACE, READ_CLOCK, READ_IDENTITY, STATEMENTS, TABLES
from rockdove.store.common.outcome import outcome_of

log = logging.getLogger("rockdove")
# It tells of every try to reach a node that is away; what that means is told here.
logging.getLogger("cassandra").setLevel(logging.CRITICAL)

# Seconds after which the same is asked of another node as well: a node that is stopped keeps its connections open.
SPECULATE_S = 0.25
MOST_TRIES = 3
# Seconds after which nobody waits for an answer any more.
PATIENCE_S = 4.0
# Seconds after which a statement is sent again for which there was no room in the connection.
BUSY_S = 0.01
# Seconds after which it is taken for unable to answer, when it is asked whether it can.
CHECK_S = 1.5
# Seconds that another service may take to make the tables, and between two looks for them.
MAKING_S = 30.0
MAKING_LOOK_S = 0.5
_MISSING = re.compile("doesn't exist|does not exist|unconfigured table", re.IGNORECASE)
# Seconds between two looks at a connection on which nothing goes on, and for the answer to that.
HEARTBEAT_S = 1.0

_COPIES = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = %s"
_DISK = "SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = %s"
_SYNC = "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"

Row = tuple[Any, ...]

# What the driver raises when nodes cannot be reached, do not answer, or refuse.
_TROUBLES: tuple[type[Exception], ...] = (
    NoHostAvailable,
    OSError,
    DriverException,
    RequestExecutionException,
    ConnectionException,
)


class Away(StoreError):
    """Nothing has happened: too few nodes can be reached."""


class _Doubtful(Exception):
    """Asked of several nodes, none of which said that it was done: it may be."""

    def __init__(self, error: Exception) -> None:
        super().__init__(_reason(error))


class _Retry(RetryPolicy):  # type: ignore[misc]
    """Every statement may be made twice: each has the same outcome then, or says whose it was."""

    def on_read_timeout(self, query: Any, consistency: int, *words: Any, **names: Any) -> tuple[int, int | None]:
        return self._again(consistency, names.get("retry_num", words[-1] if words else 0))

    def on_write_timeout(self, query: Any, consistency: int, write_type: int, *words: Any, **names: Any) -> Any:
        if write_type == WriteType.CAS:
            # Who has asked finds out with a serial read.
            return self.RETHROW, None
        return self._again(consistency, names.get("retry_num", words[-1] if words else 0))

    def on_unavailable(self, query: Any, consistency: int, *words: Any, **names: Any) -> tuple[int, int | None]:
        return self._again(consistency, names.get("retry_num", words[-1] if words else 0))

    def on_request_error(self, query: Any, consistency: int, error: Exception, retry_num: int) -> Any:
        return self._again(consistency, retry_num)

    def _again(self, consistency: int, retry_num: int) -> tuple[int, int | None]:
        return (self.RETRY_NEXT_HOST, consistency) if retry_num < 2 else (self.RETHROW, None)


class Session:
    """For the event loop's thread. Statements are named by their text, which is one of `STATEMENTS`."""

    def __init__(self, address: Address, loop: asyncio.AbstractEventLoop) -> None:
        self._address = address
        self._loop = loop
        self._cluster: Cluster | None = None
        self._session: DriverSession | None = None
        self._prepared: dict[str, PreparedStatement] = {}
        # What has come, in the driver's thread, and whether the loop knows that something has.
        self._answers: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._is_told = False
        self._trouble: str | None = None
        # When too few nodes began, or ceased, not to answer: what they had acknowledged before, and was not on disk,
        # may be lost.
        self.troubled_s = -math.inf
        # Why nothing is asked at the moment: the clock of this machine is wrong.
        self.refusal: str | None = None
        # What names of this store begin with, once it is known.
        self.space = ""
        # Names this front-end among all, and numbers what it does.
        self.front_end = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        # How often each statement was made; a batch in one partition counts once, by its first statement.
        self.made: Counter[str] = Counter()
        self.failed = 0

    def token(self) -> str:
        """Never given twice."""
        return f"{self.front_end}-{next(self._numbers)}"

    def named(self, text: str) -> str:
        """The name of something that belongs to this store."""
        return f"{self.space}/{text}"

    @property
    def trouble(self) -> str | None:
        """Why changes fail at the moment."""
        return self.refusal or self._trouble

    @property
    def calls(self) -> int:
        return self.made.total()

    # Opening.

    async def open(self) -> None:
        """Make the keyspace and its tables unless they exist. Raises `DataFolderError`."""
        try:
            await self._loop.run_in_executor(None, self._connect)
        except (*_TROUBLES, InvalidRequest, SyntaxException) as error:
            self.close()
            raise DataFolderError(f"Cassandra at {self._address} cannot be used: {_reason(error)}") from None

    def _connect(self) -> None:
        address = self._address
        one = address.consistency == "one"
        profile = ExecutionProfile(
            # The same node for the same partition, as long as it answers: transactions on one journal meet there.
            load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(), shuffle_replicas=False),
            retry_policy=_Retry(),
            consistency_level=ConsistencyLevel.LOCAL_ONE if one else ConsistencyLevel.LOCAL_QUORUM,
            serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL,
            request_timeout=PATIENCE_S,
            row_factory=tuple_factory,
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(SPECULATE_S, MOST_TRIES - 1),
        )
        login = None if address.user is None else PlainTextAuthProvider(address.user, address.password)
        self._cluster = Cluster(
            list(address.hosts),
            port=address.port,
            auth_provider=login,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            reconnection_policy=ConstantReconnectionPolicy(0.5, None),
            idle_heartbeat_interval=HEARTBEAT_S,
            idle_heartbeat_timeout=2 * HEARTBEAT_S,
            connect_timeout=PATIENCE_S,
            # Without it, what is larger than a packet waits 40 ms for an acknowledgement that the other side delays.
            sockopts=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            control_connection_timeout=PATIENCE_S,
            max_schema_agreement_wait=30,
            # Tables change when this store makes them, and at no other time.
            schema_event_refresh_window=-1,
        )
        session = self._cluster.connect()
        # Where we give no timestamp of our own, the nodes do: clocks of front-ends decide nothing.
        session.use_client_timestamp = False
        self._set_up(session)
        self._session = session

    def _set_up(self, session: DriverSession) -> None:
        """Another service may be making the same tables: what is not there yet is there in a moment."""
        until_s = monotonic() + MAKING_S
        while True:
            try:
                self._make_tables(session)
                self._warn(session)
                session.set_keyspace(self._address.keyspace)
                for text in STATEMENTS:
                    statement = session.prepare(text)
                    statement.is_idempotent = True
                    self._prepared[text] = statement
                return
            except InvalidRequest as error:
                if monotonic() > until_s or not _MISSING.search(str(error)):
                    raise
            time.sleep(MAKING_LOOK_S)

    def _make_tables(self, session: DriverSession) -> None:
        assert self._cluster is not None
        keyspace = self._address.keyspace
        # Its name may be a word of CQL.
        quoted = f'"{keyspace}"'
        known = self._cluster.metadata.keyspaces.get(keyspace)
        if known is None:
            datacenter = next(iter(self._cluster.metadata.all_hosts())).datacenter
            copies = self._address.replication or 1
            nodes = sum(host.datacenter == datacenter for host in self._cluster.metadata.all_hosts())
            if copies > nodes:
                raise OSError(f"{copies} copies of everything (--replication) need as many nodes; there are {nodes}")
            session.execute(KEYSPACE.format(keyspace=quoted, datacenter=datacenter, copies=copies), timeout=60)
        there = () if known is None else known.tables
        for name, text in TABLES.items():
            if name not in there:
                session.execute(text.format(keyspace=quoted), timeout=60)

    def _warn(self, session: DriverSession) -> None:
        """Say so if a node that dies can take messages along that were acknowledged."""
        (copies,) = session.execute(_COPIES, (self._address.keyspace,)).one() or ({},)
        number = sum(int(copied) for name, copied in copies.items() if name != "class")
        wanted = self._address.replication
        if wanted is not None and number and str(wanted) not in copies.values():
            log.warning(
                "the keyspace %s is there already, with other copies (%s), and --replication %d changes nothing: use "
                "ALTER KEYSPACE, and nodetool repair",
                self._address.keyspace,
                ", ".join(f"{name}: {copied}" for name, copied in copies.items() if name != "class"),
                wanted,
            )
        try:
            (sync,) = session.execute(_SYNC).one() or (None,)
        except (Unauthorized, InvalidRequest):
            return
        if number == 1 and sync == "periodic":
            log.warning(
                "there is one copy of each message, and Cassandra acknowledges it before it is on disk "
                "(commitlog_sync: periodic): a node that dies can lose the last ones. Set commitlog_sync: batch, or "
                "make the keyspace with three copies"
            )

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.shutdown()
            self._cluster = self._session = None

    # Asking.

    def execute(self, done: Done[list[Row]], text: str, values: Sequence[Any], consistency: int | None = None) -> None:
        bound = self._prepared[text].bind(values)
        if consistency is not None:
            bound.consistency_level = consistency
        self._execute(done, text, bound)

    def execute_batch(self, done: Done[list[Row]], rows: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """Several statements in one partition: all or none."""
        if len(rows) == 1:
            self.execute(done, *rows[0])
            return
        batch = BatchStatement(BatchType.UNLOGGED)
        for text, values in rows:
            batch.add(self._prepared[text].bind(values))
        batch.is_idempotent = True
        self._execute(done, rows[0][0], batch)

    async def ask(self, text: str, *values: Any) -> list[Row]:
        """Raises `StoreError`."""
        return await _rows(lambda done: self.execute(done, text, values))

    async def ask_first_node(self, text: str) -> list[Row]:
        """Of the nodes that can be reached always the same one, whichever service asks.

        Raises `StoreError`, which says nothing of the other nodes.
        """
        cluster, session = self._cluster, self._session
        if cluster is None or session is None:
            raise Away("the connection to Cassandra is closed")
        pools = session.get_pool_state()
        hosts = [host for host in cluster.metadata.all_hosts() if host.is_up and host in pools]
        if not hosts:
            raise Away("no node can be reached")
        first = min(hosts, key=lambda host: str(host.host_id))
        answer: Future[list[Row]] = Future()
        answer.set_running_or_notify_cancel()
        asked = session.execute_async(self._prepared[text].bind(()), timeout=CHECK_S, host=first)
        asked.add_callbacks(lambda rows: answer.set_result(list(rows)), answer.set_exception)
        try:
            return await asyncio.wrap_future(answer)
        except _TROUBLES as error:
            raise StoreError(f"{first} does not answer: {_reason(error)}") from None

    async def ask_serial(self, text: str, *values: Any) -> list[Row]:
        """A read that finds out what has become of conditional statements. Raises `StoreError`."""
        return await _rows(lambda done: self.execute(done, text, values, ConsistencyLevel.LOCAL_SERIAL))

    async def ask_agreed(self, text: str, *values: Any) -> list[Row]:
        """At quorum, whatever the store's consistency: for what is agreed on. Raises `StoreError`."""
        return await _rows(lambda done: self.execute(done, text, values, ConsistencyLevel.LOCAL_QUORUM))

    async def ask_all(self, text: str, *values: Any) -> list[Row]:
        """What any node has; all must answer. Raises `StoreError`."""
        return await _rows(lambda done: self.execute(done, text, values, ConsistencyLevel.ALL))

    async def ask_batch(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """Raises `StoreError`."""
        await outcome_of(lambda done: self.execute_batch(done, rows))

    async def ask_agreed_batch(self, rows: Sequence[tuple[str, Sequence[Any]]]) -> list[Row]:
        """Several statements in one partition, of which the first has a condition. Raises `StoreError`."""
        batch = BatchStatement(BatchType.UNLOGGED, consistency_level=ConsistencyLevel.LOCAL_QUORUM)
        for text, values in rows:
            batch.add(self._prepared[text].bind(values))
        batch.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
        return await _rows(lambda done: self._execute(done, rows[0][0], batch))

    def _execute(self, done: Done[list[Row]], text: str, statement: BoundStatement | BatchStatement) -> None:
        session = self._session
        if session is None:
            self._loop.call_soon(done, Away("the connection to Cassandra is closed"))
            return
        if self.refusal is not None and text != READ_CLOCK:
            self._loop.call_soon(done, Away(self.refusal))
            return
        self.made[text] += 1
        self._send(session, statement, text.startswith("SELECT"), done, self._loop.time() + PATIENCE_S)

    def _send(
        self, session: DriverSession, statement: Any, is_read: bool, done: Done[list[Row]], until_s: float
    ) -> None:
        def sent_nothing(error: Exception) -> None:
            # In the driver's thread: the connection takes no more at the moment.
            if _is_busy(error) and self._loop.time() < until_s:
                self._answers.append((wait, None))
                self._tell()
            else:
                self._came_not(error, done)

        def wait(_: Any) -> None:
            self._loop.call_later(BUSY_S, self._send, session, statement, is_read, done, until_s)

        future = session.execute_async(statement)

        def failed(error: Exception) -> None:
            # In the driver's thread. What was asked of a node that was lost, or of several, may be done by one of them.
            asked = len(future.attempted_hosts)
            is_doubtful = asked > 1 or (asked == 1 and isinstance(error, NoHostAvailable))
            sent_nothing(error if is_read or _is_busy(error) or not is_doubtful else _Doubtful(error))

        future.add_callbacks(self._came, failed, callback_args=(done,))

    async def disk_bytes(self) -> int:
        """What the tables of the store take on all nodes that can be reached. Raises `StoreError`."""
        try:
            return await self._loop.run_in_executor(None, self._disk_bytes)
        except (*_TROUBLES, InvalidRequest) as error:
            raise StoreError(f"Cassandra does not tell its size: {_reason(error)}") from None

    def _disk_bytes(self) -> int:
        """Each node tells of itself only."""
        cluster, session = self._cluster, self._session
        if cluster is None or session is None:
            raise Away("the connection to Cassandra is closed")
        hosts = [host for host in cluster.metadata.all_hosts() if host.is_up]
        asked = [session.execute_async(_DISK, (self._address.keyspace,), host=host) for host in hosts]
        mebibytes: int = sum(row[0] for future in asked for row in future.result())
        return mebibytes * 1024 * 1024

    async def check(self) -> None:
        """See whether more than half of the copies answer."""
        try:
            async with asyncio.timeout(CHECK_S):
                await self.ask_agreed(READ_IDENTITY)
        except StoreError as error:
            self._be_troubled(str(error))
        except TimeoutError:
            self._be_troubled(f"Cassandra does not answer within {CHECK_S:g} s")
        else:
            if self._trouble is not None:
                self._trouble, self.troubled_s = None, monotonic()

    def _be_troubled(self, trouble: str) -> None:
        if self._trouble is None:
            self.troubled_s = monotonic()
        self._trouble = trouble

    # In the driver's thread.

    def _came(self, rows: Any, done: Done[list[Row]]) -> None:
        self._answers.append((done, rows))
        self._tell()

    def _came_not(self, error: Exception, done: Callable[[Any], None]) -> None:
        self._answers.append((done, error))
        self._tell()

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            try:
                self._loop.call_soon_threadsafe(self._take)
            except RuntimeError:
                # The loop is closed: nobody waits.
                self._answers.clear()

    # In the loop's.

    def _take(self) -> None:
        self._is_told = False
        answers = self._answers
        while answers:
            done, outcome = answers.popleft()
            if isinstance(outcome, Exception):
                done(self._error(outcome))
            else:
                done(list(outcome) if outcome is not None else [])

    def _error(self, error: Exception) -> StoreError:
        self.failed += 1
        text = _reason(error)
        if isinstance(error, _Doubtful):
            return StoreInterrupted(f"Cassandra has perhaps done it: {text}")
        if isinstance(error, Timeout | OperationTimedOut | CoordinationFailure):
            return StoreInterrupted(f"Cassandra does not answer in time: {text}")
        if isinstance(error, NoHostAvailable | Unavailable):
            trouble = f"too few nodes of Cassandra can be reached: {text}"
            self._be_troubled(trouble)
            return Away(trouble)
        return StoreError(f"Cassandra: {text}")


def _is_busy(error: Exception) -> bool:
    """Whether a statement was not sent, because too much is being sent already."""
    if not isinstance(error, NoHostAvailable) or not isinstance(error.errors, dict):
        return False
    return bool(error.errors) and all(isinstance(each, ConnectionBusy) for each in error.errors.values())


def _reason(error: Exception) -> str:
    """In one line."""
    if isinstance(error, UnresolvableContactPoints):
        return "no address is known for its hosts; check their names"
    if isinstance(error, NoHostAvailable) and not error.errors:
        return "no node can be reached; if none ever could, check the names of the hosts"
    if isinstance(error, NoHostAvailable):
        return "; ".join(f"{host}: {str(why).splitlines()[0]}" for host, why in error.errors.items())
    return (str(error).splitlines() or [type(error).__name__])[0]


async def _rows(call: Callable[[Callable[[Any], None]], None]) -> list[Row]:
    rows: list[Row] = await outcome_of(call)
    return rows

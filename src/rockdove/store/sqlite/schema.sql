-- The embedded store's schema, format 6 (PRAGMA user_version).
--
-- Upgrade rule: a change that an older Rockdove could misread gets a new number and a step in folder.py that
-- turns the previous format into it inside one transaction; a newer format than the program knows is refused.
-- Format 2 added the table `account`, format 3 leases (`lease`, `consumer`) and what is published once (`stage`,
-- `published`), format 4 `application`, format 5 `landing`, format 6 `topic`.

-- One row a setting: the key that signs receipt handles.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- Logical queues, move tasks and recently deleted names, as JSON records (core/queue.py).
CREATE TABLE queue (uid TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE task (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE deleted (account TEXT, name TEXT, deleted_us INTEGER NOT NULL, PRIMARY KEY (account, name)) WITHOUT ROWID;

-- Topics with their subscriptions, as JSON records (core/topic.py).
CREATE TABLE topic (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;

-- Accounts, as JSON records (core/account.py), their secrets sealed under the key file. Of one that was removed the id
-- stays, without a record: nobody else ever gets it.
CREATE TABLE account (id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;

-- Physical queues. `reserved` is a sequence number that was never given out: numbering goes on there after a restart,
-- so that no id is ever used twice. `grouped` queues are claimed by SQL with their groups in mind, the others from the
-- cached head. A row without a queue is being emptied in the background.
CREATE TABLE physical (
  number INTEGER PRIMARY KEY, prefix TEXT NOT NULL, queue TEXT, fifo INTEGER NOT NULL,
  grouped INTEGER NOT NULL, reserved INTEGER NOT NULL
);

-- The message index. `t` is the time (us) from which the message may be received; in FIFO queues a message that waits
-- behind others of its group has t = 2^61 + its id instead (fifo.py), and in all queues a leased one 2^60. `id` holds the physical queue's number in
-- its high bits (core/ids.py). `late` marks messages that are older than those before them (moved from another queue):
-- all others expire in the order of their ids. Bodies are apart: they never change, so a claim rewrites only these bytes.
CREATE TABLE entry (
  id INTEGER PRIMARY KEY, pq INTEGER NOT NULL, t INTEGER NOT NULL, rc INTEGER NOT NULL DEFAULT 0,
  first INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL, grp TEXT,
  late INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX ready ON entry (pq, t);
CREATE INDEX lane ON entry (pq, grp, t) WHERE grp IS NOT NULL;
CREATE INDEX late ON entry (pq, sent) WHERE late;
CREATE TABLE body (id INTEGER PRIMARY KEY, md5 TEXT NOT NULL, body TEXT NOT NULL, extra TEXT);

-- FIFO: which deduplication keys were seen, and what a receive attempt got.
CREATE TABLE seen (
  queue TEXT, key TEXT, id INTEGER NOT NULL, message_id TEXT NOT NULL, at_us INTEGER NOT NULL, PRIMARY KEY (queue, key)
) WITHOUT ROWID;
CREATE INDEX seen_at ON seen (at_us);
CREATE TABLE attempt (
  queue TEXT, pq INTEGER, name TEXT, at_us INTEGER NOT NULL, claims TEXT NOT NULL, PRIMARY KEY (queue, name, pq)
) WITHOUT ROWID;
CREATE INDEX attempt_at ON attempt (at_us);

-- Leases (lease.py): which messages, in their order, as a JSON array of ids. `number` is how many they were.
CREATE TABLE lease (
  queue TEXT NOT NULL, consumer TEXT NOT NULL, shard INTEGER NOT NULL, sequence INTEGER NOT NULL,
  made_us INTEGER NOT NULL, number INTEGER NOT NULL, ids TEXT NOT NULL, UNIQUE (queue, consumer, shard, sequence)
);
-- Who leases: through which sequence the leases of each shard have ended. Shard -1 stands for all of them, and is there
-- for every consumer; `seen_us` is when it last called.
CREATE TABLE consumer (
  queue TEXT, name TEXT, shard INTEGER, ended INTEGER NOT NULL, seen_us INTEGER NOT NULL,
  PRIMARY KEY (queue, name, shard)
) WITHOUT ROWID;

-- Publishing once (publish.py): chunks that wait to be published, as JSON, and who has published which partition of a
-- batch; -1 in place of a partition stands for a batch as a whole.
CREATE TABLE stage (
  queue TEXT NOT NULL, application TEXT NOT NULL, batch INTEGER NOT NULL, partition INTEGER NOT NULL,
  attempt TEXT NOT NULL, chunk INTEGER NOT NULL, at_us INTEGER NOT NULL, number INTEGER NOT NULL,
  bytes INTEGER NOT NULL, parcels TEXT NOT NULL, UNIQUE (queue, application, batch, partition, attempt, chunk)
);
CREATE INDEX stage_at ON stage (at_us);
CREATE TABLE published (
  queue TEXT, application TEXT, batch INTEGER, partition INTEGER, attempt TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (queue, application, batch, partition)
) WITHOUT ROWID;
-- Who publishes: through which batch nothing is known any more, and when it last has published.
CREATE TABLE application (
  queue TEXT, name TEXT, forgotten INTEGER NOT NULL, seen_us INTEGER NOT NULL, PRIMARY KEY (queue, name)
) WITHOUT ROWID;
CREATE INDEX application_at ON application (seen_us);
-- Batches that are published as a whole, and of which chunks are still in `stage`: the attempts that count, in their
-- order. `place` is the physical queue that counts them.
CREATE TABLE landing (
  queue TEXT, application TEXT, batch INTEGER, turn INTEGER, attempt TEXT NOT NULL, at_us INTEGER NOT NULL,
  place INTEGER NOT NULL, PRIMARY KEY (queue, application, batch, turn)
) WITHOUT ROWID;

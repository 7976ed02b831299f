-- The embedded store's schema as it was in format 1. Frozen: it stands for the data folders that are out there.

CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE queue (uid TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE task (id TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE deleted (account TEXT, name TEXT, deleted_us INTEGER NOT NULL, PRIMARY KEY (account, name)) WITHOUT ROWID;

CREATE TABLE physical (
  number INTEGER PRIMARY KEY, prefix TEXT NOT NULL, queue TEXT, fifo INTEGER NOT NULL,
  grouped INTEGER NOT NULL, reserved INTEGER NOT NULL
);

CREATE TABLE entry (
  id INTEGER PRIMARY KEY, pq INTEGER NOT NULL, t INTEGER NOT NULL, rc INTEGER NOT NULL DEFAULT 0,
  first INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL, grp TEXT,
  late INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX ready ON entry (pq, t);
CREATE INDEX lane ON entry (pq, grp, t) WHERE grp IS NOT NULL;
CREATE INDEX late ON entry (pq, sent) WHERE late;
CREATE TABLE body (id INTEGER PRIMARY KEY, md5 TEXT NOT NULL, body TEXT NOT NULL, extra TEXT);

CREATE TABLE seen (
  queue TEXT, key TEXT, id INTEGER NOT NULL, message_id TEXT NOT NULL, at_us INTEGER NOT NULL, PRIMARY KEY (queue, key)
) WITHOUT ROWID;
CREATE INDEX seen_at ON seen (at_us);
CREATE TABLE attempt (
  queue TEXT, pq INTEGER, name TEXT, at_us INTEGER NOT NULL, claims TEXT NOT NULL, PRIMARY KEY (queue, name, pq)
) WITHOUT ROWID;
CREATE INDEX attempt_at ON attempt (at_us);

-- Who may see what: a person's privacy level, and which turns a conversation window may show. What a reply was given is
-- kept for `!why`, what a command took away for `!memories undo`, and files wait beside the outbox row that sends them.

ALTER TABLE user_state ADD COLUMN privacy TEXT NOT NULL DEFAULT 'open'
    CHECK (privacy IN ('open', 'no-memory', 'silent'));

ALTER TABLE journal ADD COLUMN in_context INTEGER NOT NULL DEFAULT 1 CHECK (in_context IN (0, 1));
ALTER TABLE journal ADD COLUMN given TEXT; -- JSON

-- The window of a room is read by room; what one person said lately is taken out of every window by this one.
CREATE INDEX journal_of_sender ON journal (sender, room_id);

-- One step back for each person or room; `owner` is a Matrix id, `taken` JSON.
CREATE TABLE undo (
    owner TEXT PRIMARY KEY NOT NULL,
    event_id TEXT NOT NULL,
    at TEXT NOT NULL,
    taken TEXT NOT NULL
) STRICT;

CREATE INDEX undo_by_time ON undo (at);

CREATE TABLE attachments (
    txn_id TEXT PRIMARY KEY NOT NULL REFERENCES outbox (txn_id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;

-- What a merged memory was put together from, JSON: a redaction of what taught a part of it takes it apart again.
CREATE TABLE merged_parts (
    memory_id INTEGER PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    parts TEXT NOT NULL
) STRICT;

-- What nothing was done on, by age: the turn of the day deletes it once it is old enough.
CREATE INDEX journal_passed_over ON journal (received_at) WHERE state IN ('ignored', 'undecrypted');

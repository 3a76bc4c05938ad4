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

-- Which events taught the parts of a merged memory; `part` is the id of the memory that was merged, which is gone.
CREATE TABLE merged_mentions (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (memory_id, part, event_id)
) STRICT;

CREATE INDEX merged_mentions_by_event ON merged_mentions (event_id);

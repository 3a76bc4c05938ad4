-- The bot's own arrival in a room is journalled too. The table is built anew because SQLite cannot loosen a CHECK; the
-- new one has none on `kind`, which holds the words of IncomingKind, so that the next kind costs no copy.

CREATE TABLE journal_anew (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    room_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    kind TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    received_at TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('received', 'answered', 'learned', 'ignored', 'failed', 'undecrypted')),
    target TEXT,
    thread_root TEXT,
    reply_to TEXT,
    addressed INTEGER NOT NULL DEFAULT 0 CHECK (addressed IN (0, 1)),
    direct INTEGER NOT NULL DEFAULT 0 CHECK (direct IN (0, 1)),
    alone INTEGER NOT NULL DEFAULT 0 CHECK (alone IN (0, 1)),
    persona TEXT,
    recall TEXT,
    answered_at TEXT,
    session_id TEXT,
    raw TEXT,
    body TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL DEFAULT '',
    said TEXT,
    answer TEXT,
    CHECK ((state = 'undecrypted') = (raw IS NOT NULL)),
    CHECK ((session_id IS NULL) = (raw IS NULL))
) STRICT;

-- user_state.forgotten_through speaks of numbers, so none is given out again, not even that of a row deleted since.
INSERT INTO sqlite_sequence (name, seq) SELECT 'journal_anew', seq FROM sqlite_sequence WHERE name = 'journal';

INSERT INTO journal_anew (
    seq, event_id, room_id, sender, kind, sent_at, received_at, state, target, thread_root, reply_to, addressed, direct,
    alone, persona, recall, answered_at, session_id, raw, body, text, said, answer
)
SELECT
    seq, event_id, room_id, sender, kind, sent_at, received_at, state, target, thread_root, reply_to, addressed, direct,
    alone, persona, recall, answered_at, session_id, raw, body, text, said, answer
FROM journal;

DROP TABLE journal;
ALTER TABLE journal_anew RENAME TO journal;

CREATE INDEX journal_of_room ON journal (room_id);
CREATE INDEX journal_unfinished ON journal (seq) WHERE state IN ('received', 'answered');
CREATE INDEX journal_waiting ON journal (room_id, session_id) WHERE state = 'undecrypted';
CREATE INDEX journal_window ON journal (room_id, thread_root, answered_at)
    WHERE said IS NOT NULL AND answer IS NOT NULL;
CREATE INDEX journal_texts ON journal (received_at)
    WHERE body <> '' OR text <> '' OR said IS NOT NULL OR answer IS NOT NULL;
CREATE INDEX journal_arrivals ON journal (room_id) WHERE kind = 'joined';

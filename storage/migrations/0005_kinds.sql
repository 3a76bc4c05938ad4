-- Kinds of turn, pictures, and documents of a room.

ALTER TABLE journal ADD COLUMN turn TEXT; -- a word of TurnKind, once a turn began
ALTER TABLE journal ADD COLUMN media TEXT; -- a word of MediaKind: what the event holds beside its text
ALTER TABLE journal ADD COLUMN scene INTEGER NOT NULL DEFAULT 0 CHECK (scene IN (0, 1)); -- came in during a scene

-- The row of the same room whose event this one replaces; which event that is, is known once that row is sent.
ALTER TABLE outbox ADD COLUMN edits TEXT;

-- Who is in a scene (`!verse on`), and until when if nothing more is said. thread_root '' is the main timeline.
CREATE TABLE scenes (
    room_id TEXT NOT NULL,
    thread_root TEXT NOT NULL DEFAULT '',
    user_id TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (room_id, thread_root, user_id)
) STRICT;

CREATE INDEX scenes_by_time ON scenes (until);

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    room_id TEXT NOT NULL,
    title TEXT NOT NULL CHECK (title <> ''),
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL CHECK (size >= 0),
    event_id TEXT NOT NULL, -- of the file
    added_by TEXT NOT NULL,
    added_at TEXT NOT NULL,
    private_to TEXT -- whoever added it alone with the bot; NULL where others were there
) STRICT;

-- A file may be kept by somebody alone and, without a word of that, be added for everyone in the room.
CREATE UNIQUE INDEX documents_by_file ON documents (room_id, event_id, coalesce(private_to, ''));

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 1),
    text TEXT NOT NULL CHECK (text <> ''),
    UNIQUE (document_id, number)
) STRICT;

CREATE TABLE chunk_embeddings (
    chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (chunk_id, model_id)
) STRICT;

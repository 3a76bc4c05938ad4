BEGIN TRANSACTION;
CREATE TABLE account (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT;
INSERT INTO "account" VALUES('device_id','DEVICE');
CREATE TABLE attachments (
    txn_id TEXT PRIMARY KEY NOT NULL REFERENCES outbox (txn_id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;
CREATE TABLE chunk_embeddings (
    chunk_id INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (chunk_id, model_id)
) STRICT;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 1),
    text TEXT NOT NULL CHECK (text <> ''),
    UNIQUE (document_id, number)
) STRICT;
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
CREATE TABLE effects (
    event_id TEXT NOT NULL,
    call INTEGER NOT NULL CHECK (call >= 0),
    result TEXT NOT NULL,
    PRIMARY KEY (event_id, call)
) STRICT;
INSERT INTO "effects" VALUES('$e1',0,'saved');
CREATE TABLE embeddings (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (memory_id, model_id)
) STRICT;
INSERT INTO "embeddings" VALUES(1,'model',X'0000003F000000BF');
CREATE TABLE "journal" (
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
    answer TEXT, in_context INTEGER NOT NULL DEFAULT 1 CHECK (in_context IN (0, 1)), given TEXT, turn TEXT, media TEXT, scene INTEGER NOT NULL DEFAULT 0 CHECK (scene IN (0, 1)),
    CHECK ((state = 'undecrypted') = (raw IS NOT NULL)),
    CHECK ((session_id IS NULL) = (raw IS NULL))
) STRICT;
INSERT INTO "journal" VALUES(1,'$e1','!kitchen:example.org','@alice:example.org','message','2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','learned',NULL,NULL,NULL,1,0,0,'default',NULL,'2026-03-01T12:00:00.000250+00:00',NULL,NULL,'bot: my cat is Mochi','my cat is Mochi','my cat is Mochi','Noted.',1,'{"memories": [], "recalled": [], "chunks": [], "picture": false}','ask',NULL,0);
INSERT INTO "journal" VALUES(2,'$e2','!kitchen:example.org','@alice:example.org','message','2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','learned',NULL,NULL,NULL,1,0,0,'default',NULL,'2026-03-01T12:00:00.000250+00:00',NULL,NULL,'bot: my cat is Mochi','Mochi is my cat','Mochi is my cat','Noted.',1,'{"memories": [], "recalled": [], "chunks": [], "picture": false}','ask',NULL,0);
INSERT INTO "journal" VALUES(3,'$e3','!kitchen:example.org','@alice:example.org','message','2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','received',NULL,NULL,NULL,1,0,0,'default','{"searched_on": "2026-03-01", "matches": [[1, 0.5]], "recalled": [1], "rested": []}',NULL,NULL,NULL,'bot: my cat is Mochi','and I play the cello','and I play the cello',NULL,1,NULL,'ask',NULL,0);
INSERT INTO "journal" VALUES(4,'$e0','!kitchen:example.org','@alice:example.org','joined','2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','ignored',NULL,NULL,NULL,1,0,0,NULL,NULL,NULL,NULL,NULL,'','',NULL,NULL,1,NULL,NULL,NULL,0);
INSERT INTO "journal" VALUES(5,'$e4','!kitchen:example.org','@alice:example.org','message','2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','undecrypted',NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,'session','{"type": "m.room.encrypted"}','','',NULL,NULL,1,NULL,NULL,NULL,0);
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_kind TEXT NOT NULL CHECK (scope_kind IN ('room', 'personal', 'global')),
    scope_id TEXT NOT NULL,
    persona TEXT NOT NULL,
    text TEXT NOT NULL CHECK (text <> ''),
    source TEXT NOT NULL CHECK (source IN ('promotion', 'tool', 'command', 'import', 'merge')),
    protected INTEGER NOT NULL DEFAULT 0 CHECK (protected IN (0, 1)),
    unused_days INTEGER NOT NULL DEFAULT 0 CHECK (unused_days >= 0),
    counted_on TEXT NOT NULL,
    last_matched_at TEXT,
    mentions INTEGER NOT NULL DEFAULT 1 CHECK (mentions >= 1),
    first_seen TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    origin_room TEXT NOT NULL,
    origin_event TEXT NOT NULL,
    origin_private INTEGER NOT NULL CHECK (origin_private IN (0, 1)),
    shared INTEGER NOT NULL DEFAULT 0 CHECK (shared IN (0, 1)),
    rooms TEXT NOT NULL DEFAULT '[]',
    tags TEXT NOT NULL DEFAULT '[]',
    CHECK ((scope_kind = 'global') = (persona = ''))
) STRICT;
INSERT INTO "memories" VALUES(1,'personal','@alice:example.org','default','has a cat named Mochi','promotion',0,0,'2026-03-01',NULL,2,'2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','!kitchen:example.org','$e1',0,0,'[]','[]');
CREATE TABLE memory_candidates (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL CHECK (text <> ''),
    mentions INTEGER NOT NULL CHECK (mentions >= 1),
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    origin_room TEXT NOT NULL,
    origin_event TEXT NOT NULL,
    origin_private INTEGER NOT NULL CHECK (origin_private IN (0, 1))
) STRICT;
INSERT INTO "memory_candidates" VALUES(2,'@alice:example.org','plays the cello',1,'2026-03-01T12:00:00.000250+00:00','2026-03-01T12:00:00.000250+00:00','!kitchen:example.org','$e3',0);
CREATE TABLE mentions (
    event_id TEXT NOT NULL,
    candidate_id INTEGER REFERENCES memory_candidates (id) ON DELETE CASCADE,
    memory_id INTEGER REFERENCES memories (id) ON DELETE CASCADE,
    CHECK ((candidate_id IS NULL) <> (memory_id IS NULL))
) STRICT;
INSERT INTO "mentions" VALUES('$e1',NULL,1);
INSERT INTO "mentions" VALUES('$e2',NULL,1);
INSERT INTO "mentions" VALUES('$e3',2,NULL);
CREATE TABLE merged_parts (
    memory_id INTEGER PRIMARY KEY NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    parts TEXT NOT NULL
) STRICT;
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    txn_id TEXT NOT NULL UNIQUE,
    room_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    part INTEGER NOT NULL CHECK (part >= 0),
    content TEXT NOT NULL,
    created_at TEXT NOT NULL,
    device_id TEXT NOT NULL,
    sent_event_id TEXT,
    failure TEXT
, edits TEXT) STRICT;
INSERT INTO "outbox" VALUES(1,'txn1','!kitchen:example.org','$event',0,'{"body": "hello"}','2026-03-01T12:00:00.000250+00:00','DEVICE','$sent',NULL,NULL);
INSERT INTO "outbox" VALUES(2,'txn2','!kitchen:example.org','$event',0,'{"body": "hello"}','2026-03-01T12:00:00.000250+00:00','DEVICE',NULL,NULL,NULL);
CREATE TABLE room_state (
    room_id TEXT PRIMARY KEY NOT NULL,
    encrypted INTEGER NOT NULL DEFAULT 0 CHECK (encrypted IN (0, 1)),
    persona TEXT NOT NULL DEFAULT 'default'
) STRICT;
INSERT INTO "room_state" VALUES('!garden:example.org',1,'default');
CREATE TABLE scenes (
    room_id TEXT NOT NULL,
    thread_root TEXT NOT NULL DEFAULT '',
    user_id TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (room_id, thread_root, user_id)
) STRICT;
CREATE TABLE settings (
    key TEXT NOT NULL,
    room_id TEXT NOT NULL DEFAULT '',
    value TEXT NOT NULL,
    PRIMARY KEY (key, room_id)
) STRICT;
CREATE TABLE sync_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    next_batch TEXT NOT NULL
) STRICT;
INSERT INTO "sync_state" VALUES(1,'s1');
CREATE TABLE undo (
    owner TEXT PRIMARY KEY NOT NULL,
    event_id TEXT NOT NULL,
    at TEXT NOT NULL,
    taken TEXT NOT NULL
) STRICT;
CREATE TABLE usage (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    room_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
INSERT INTO "usage" VALUES(1,'$e1','@alice:example.org','!kitchen:example.org','reply','model',1,2,3,4,'2026-03-01T12:00:00.000250+00:00');
CREATE TABLE user_state (
    user_id TEXT PRIMARY KEY NOT NULL,
    promoting_passes INTEGER NOT NULL DEFAULT 0 CHECK (promoting_passes >= 0),
    forgotten_through INTEGER NOT NULL DEFAULT 0 -- journal.seq: nothing said up to there is learned any more
, privacy TEXT NOT NULL DEFAULT 'open'
    CHECK (privacy IN ('open', 'no-memory', 'silent'))) STRICT;
INSERT INTO "user_state" VALUES('@alice:example.org',1,0,'open');
CREATE INDEX memories_of_scope ON memories (scope_id);
CREATE INDEX candidates_of_user ON memory_candidates (user_id);
CREATE INDEX mentions_by_event ON mentions (event_id);
CREATE UNIQUE INDEX mentions_of_candidate ON mentions (candidate_id, event_id);
CREATE UNIQUE INDEX mentions_of_memory ON mentions (memory_id, event_id);
CREATE INDEX outbox_event ON outbox (event_id);
CREATE INDEX outbox_sent ON outbox (sent_event_id) WHERE sent_event_id IS NOT NULL;
CREATE INDEX outbox_pending ON outbox (seq) WHERE sent_event_id IS NULL AND failure IS NULL;
CREATE INDEX outbox_pending_of_room ON outbox (room_id) WHERE sent_event_id IS NULL AND failure IS NULL;
CREATE INDEX journal_of_room ON journal (room_id);
CREATE INDEX journal_unfinished ON journal (seq) WHERE state IN ('received', 'answered');
CREATE INDEX journal_waiting ON journal (room_id, session_id) WHERE state = 'undecrypted';
CREATE INDEX journal_window ON journal (room_id, thread_root, answered_at)
    WHERE said IS NOT NULL AND answer IS NOT NULL;
CREATE INDEX journal_texts ON journal (received_at)
    WHERE body <> '' OR text <> '' OR said IS NOT NULL OR answer IS NOT NULL;
CREATE INDEX journal_arrivals ON journal (room_id) WHERE kind = 'joined';
CREATE INDEX usage_by_time ON usage (at);
CREATE INDEX journal_of_sender ON journal (sender, room_id);
CREATE INDEX undo_by_time ON undo (at);
CREATE INDEX journal_passed_over ON journal (received_at) WHERE state IN ('ignored', 'undecrypted');
CREATE INDEX scenes_by_time ON scenes (until);
CREATE UNIQUE INDEX documents_by_file ON documents (room_id, event_id, coalesce(private_to, ''));
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('journal',5);
INSERT INTO "sqlite_sequence" VALUES('memory_candidates',2);
INSERT INTO "sqlite_sequence" VALUES('memories',2);
INSERT INTO "sqlite_sequence" VALUES('outbox',2);
INSERT INTO "sqlite_sequence" VALUES('usage',1);
COMMIT;

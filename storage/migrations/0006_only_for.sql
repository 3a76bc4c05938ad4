-- Who is to hear a row alone with the bot, or null; not sent where others are in the room by then.
ALTER TABLE outbox ADD COLUMN only_for TEXT;

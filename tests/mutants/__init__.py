"""One small fault for each rule of memory, and the test that sees it: the table, and what runs it."""

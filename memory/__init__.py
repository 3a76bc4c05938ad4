"""The rules of memory: pure values and decisions. No I/O, no clock, no randomness, no logging."""

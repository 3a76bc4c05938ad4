"""The sentences the actors say on their own account. One short sentence each; causes belong in the log."""

MODEL_KEY_MISSING = "I cannot answer: no key for the language model is configured. The admin of this bot can set one."
MODEL_FAILED = "I could not get an answer from the language model just now. Please try again in a moment."
INTERNAL_ERROR = "Something went wrong on my side, and I could not do that. Please try again."

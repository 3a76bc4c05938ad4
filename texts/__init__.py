"""What the bot says to people on its own account, in the languages there are."""

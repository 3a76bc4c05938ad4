"""A Messages-API server of our own on loopback, for running without any model provider.

It knows nothing of the bot but the requests it gets. What answers is a brain: rules here (`brain.OfflineServer`), a
script in tests.
"""

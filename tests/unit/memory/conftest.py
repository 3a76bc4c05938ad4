"""Property tests run on machines that are busy with other tests: no deadline for a single example."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

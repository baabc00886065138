"""How hard properties are tried: ``HYPOTHESIS_PROFILE=long`` tries much harder, and differently each time."""

import os

from hypothesis import settings

settings.register_profile("ci", max_examples=60, stateful_step_count=30, deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=2_000, stateful_step_count=60, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

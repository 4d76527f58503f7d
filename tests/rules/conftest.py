"""Hypothesis without deadlines: how long an example takes says nothing about whether it holds."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

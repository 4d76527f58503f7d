#!/usr/bin/env python3
"""The parts of `scripts/bench`."""

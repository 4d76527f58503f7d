# Generated from ../aio/__init__.py by scripts/generate. Do not edit.
"""The written, awaited cases."""

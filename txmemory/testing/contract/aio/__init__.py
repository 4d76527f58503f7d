"""The written, awaited cases."""

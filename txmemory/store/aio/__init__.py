"""The written, awaited handles."""

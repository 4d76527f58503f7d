"""The demonstration: an agent that is killed again and again, and a memory in which nothing is doubled or lost."""

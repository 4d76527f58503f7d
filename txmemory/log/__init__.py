"""What is made of the log as a whole: whether the rest follows from it, and restoring what does."""

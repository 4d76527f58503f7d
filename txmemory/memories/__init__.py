"""The vocabulary of conversations, entities, knowledge, user facts and tasks: memories over items."""

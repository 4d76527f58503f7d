"""The vocabulary of seed stores for conversations, entities, knowledge, user facts and tasks: memories over items."""

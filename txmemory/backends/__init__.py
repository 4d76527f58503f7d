"""Technologies behind the port. A backend has only the guard; rules live in `rules/`."""

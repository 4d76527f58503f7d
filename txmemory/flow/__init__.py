"""One generator per call: it yields requests, is sent replies, and returns the caller's answer."""

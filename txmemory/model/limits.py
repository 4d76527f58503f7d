"""Every limit of the store in one place; `design/schema.md` says why each is what it is."""

TENANT_BYTES = 128
TEXT_KEY_BYTES = 512
"""Of a scope, an applied key, an id, a holder or a kind, in UTF-8."""
NAMESPACE_BYTES = 1_024
NAMESPACE_PARTS = 16
TEXT_BYTES = 1_048_576
DATA_BYTES = 1_048_576
ATTRIBUTES_BYTES = 65_536
JSON_DEPTH = 32
JSON_DIGITS = 1_000
"""Decimal digits of one integer in `data`."""
TOKEN_MOST = 2**63 - 1
INTEGER_MOST = 2**63 - 1
"""Of an integer attribute, either sign; the least is one lower."""
COMMIT_ITEMS = 1_000
COMMIT_VICTIMS = 1_000
COMMIT_ENTRIES = 1_000
PAGE_ROWS = 1_000
FILTER_PARTS = 100
"""Conditions that a filter is composed of, compositions counted."""
FILTER_VALUES = 1_000
BOUND_MOST = 100_000
EMBEDDING_DIMENSIONS = 16_384
QUERY_BYTES = 65_536
"""Of a search, in UTF-8."""
WORD_BYTES = 255
"""Of one word of a text; what is longer is cut."""
TEXT_WORDS = 100_000
"""Of one text that are found; those behind them are not."""
TEXT_WORDS_BYTES = 900_000
"""Of these words together."""

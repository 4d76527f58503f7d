"""The words of txmemory as frozen values: valid once built, no I/O, no rule beyond what a value alone can say."""

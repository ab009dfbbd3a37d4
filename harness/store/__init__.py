"""The journal and its index: append, query, verify, merge."""

"""The inputs of calls, drawn under a secret seed."""

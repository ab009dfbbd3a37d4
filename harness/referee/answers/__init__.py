"""The right answer, and what came back held against it."""

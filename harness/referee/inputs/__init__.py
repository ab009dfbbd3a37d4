"""What calls are given, drawn under a secret seed."""

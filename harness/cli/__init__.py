"""The command line: parse, call, print. One module per command; torch is imported only once a command runs."""

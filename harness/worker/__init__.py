"""The untrusted side: a process that holds one arm. Imports its own modules, the protocol and the backends alone."""

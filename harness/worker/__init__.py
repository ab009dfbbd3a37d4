"""The untrusted side: a process that holds one arm. It imports its own modules, the protocol and the backends alone."""

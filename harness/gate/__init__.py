"""May this change be merged? Decisions over evaluations, a snapshot and a policy; nothing here runs a kernel."""

"""Where evaluations run. Today: processes of this machine."""

"""Wrong answers that a problem must tell from the right one."""

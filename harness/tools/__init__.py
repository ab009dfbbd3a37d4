"""What looks at a kernel and decides nothing: profile, sanitize, check-problem, roofline, doctor."""

"""Compare what a worker claims with what the referee saw for itself."""

"""What the GPU can do at best, and what a call can't do without."""

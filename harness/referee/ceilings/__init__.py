"""The best that the GPU can do, and the least that a call needs."""

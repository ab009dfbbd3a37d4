"""The table between referee and workers: shared buffers, and the turns taken over them."""

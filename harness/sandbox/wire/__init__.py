"""The language of referee and worker: frames and messages."""

"""What referee and worker say to each other: frames and messages."""

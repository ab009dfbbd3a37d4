"""What referee and worker say to each other. Both rooms import it; it imports neither."""

"""The user's files: problems, solutions, configs. They are validated here, once; the other rooms trust the types."""

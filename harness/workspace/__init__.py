"""What the user wrote: problems, solutions, configs. Validated here, once; the other rooms trust the types."""

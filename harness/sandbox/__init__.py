"""A worker's process, as it is seen from outside: started, asked, watched, ended."""

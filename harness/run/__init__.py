"""The way of jobs to devices: builds ahead, lanes and their locks, resume."""

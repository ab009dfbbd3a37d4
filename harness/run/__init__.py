"""Jobs to devices: builds ahead, lanes and their locks, resume."""

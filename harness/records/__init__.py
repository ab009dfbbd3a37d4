"""Pure frozen data and the journal that keeps it. Imports nothing of the other rooms."""

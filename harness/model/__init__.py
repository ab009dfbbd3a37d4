"""The words of the project as frozen data, and statistics over samples. Imports nothing of the other rooms."""

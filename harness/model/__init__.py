"""The words of the project as frozen data, and statistics over samples. The room imports nothing of the others."""

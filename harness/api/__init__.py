"""Evaluating from Python. What `import harness` offers of it is listed in harness/__init__.py."""

"""The command line: parse, call, print. A module holds a command, or a few that belong together.

torch is imported only once a command runs.
"""

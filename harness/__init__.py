"""harness: is this GPU kernel right, and how fast is it really?"""

__version__ = "0.1.0"

"""The simulator as a device: shared memory, turns on the CPU, what the runtime saw."""

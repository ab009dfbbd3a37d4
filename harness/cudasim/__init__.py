"""A CUDA toolkit for the CPU: headers, runtime and a compiler's driver. Knows no problem and no referee."""

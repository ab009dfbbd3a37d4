"""A real NVIDIA GPU through torch and the CUDA runtime."""

"""Building a solution's extensions, and what compilers say of them."""

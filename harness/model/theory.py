"""What a GPU's arithmetic can do in theory: operations of one multiprocessor in one clock, by compute capability.

Dense, a multiply-add counted as two. float32 outside of tensor cores: NVIDIA, CUDA C++ Programming Guide, "Arithmetic
Instructions", whose results per clock are doubled. Tensor cores: what NVIDIA states for a board, divided by its
multiprocessors and its boost clock:

| capability | source                                                  | board, multiprocessors, clock    |
|------------|---------------------------------------------------------|----------------------------------|
| 8.0        | NVIDIA A100 Tensor Core GPU Architecture (2020)         | A100, 108, 1410 MHz              |
| 8.6        | NVIDIA Ampere GA102 GPU Architecture (2021)             | A40, 84, 1740 MHz                |
| 8.9        | NVIDIA Ada GPU Architecture (2023), L40S data sheet     | L40S, 142, 2520 MHz              |
| 9.0        | NVIDIA H100 Tensor Core GPU Architecture (2022)         | H100 SXM5, 132, 1830 MHz         |
| 10.0       | NVIDIA Blackwell data sheet (2024)                      | B200, 148, 1850 MHz              |
| 12.0       | NVIDIA RTX Blackwell PRO GPU Architecture (2025)        | RTX PRO 6000, 188, 2617 MHz      |

Boards for games of 8.6, 8.9 and 12.0 have half these rates where sums are float32: for them it is a limit that nothing
exceeds, and nothing reaches. A capability, or an arithmetic, that isn't here has no theoretical rate.
"""

from __future__ import annotations

_PER_CLOCK: dict[str, dict[str, int]] = {
    "8.0": {"float32": 128, "tf32": 1024, "float16": 2048, "bfloat16": 2048},
    "8.6": {"float32": 256, "tf32": 512, "float16": 1024, "bfloat16": 1024},
    "8.9": {"float32": 256, "tf32": 512, "float16": 1024, "bfloat16": 1024, "float8_e4m3": 2048},
    "9.0": {"float32": 256, "tf32": 2048, "float16": 4096, "bfloat16": 4096, "float8_e4m3": 8192},
    "10.0": {"float32": 256, "tf32": 4096, "float16": 8192, "bfloat16": 8192, "float8_e4m3": 16384},
    "12.0": {"float32": 256, "tf32": 512, "float16": 1024, "bfloat16": 1024, "float8_e4m3": 2048},
}


def theoretical_operations_per_s(
    compute_capability: str | None, multiprocessors: int | None, sm_mhz: int | None
) -> dict[str, float]:
    """By arithmetic; empty where one of the three isn't known."""
    per_clock = _PER_CLOCK.get(compute_capability or "", {})
    if multiprocessors is None or sm_mhz is None:
        return {}
    return {name: float(operations * multiprocessors * sm_mhz * 10**6) for name, operations in per_clock.items()}

"""The rates of the GPU's arithmetic, in operations per second: matrix products of each kind, and multiply-adds."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

import torch

from harness.model.ceilings import Arithmetic
from harness.referee.ceilings.best_time import best_seconds

_SIDES = (2048, 4096, 8192)
_SLOW_S = 0.05
_CHAINS = 8
_STEPS = 2048
_THREADS = 2**22

Product = Callable[[], object]


def measure_matrix_products() -> dict[str, float]:
    """Square products of random numbers (zeros are faster: they take less power), a multiplication and an addition
    counted as two; the best of several sides and of either operand transposed, which are other kernels.

    What the device or this torch doesn't do is left out. Raises: torch.OutOfMemoryError.
    """
    makers: dict[Arithmetic, tuple[Callable[[int], Product], ...]] = {
        "float64": _plain(torch.float64),
        "float32": _plain(torch.float32),
        "tf32": _plain(torch.float32),
        "float16": _plain(torch.float16),
        "bfloat16": _plain(torch.bfloat16),
        "float8_e4m3": (_scaled,),
        "int8": (_integers,),
    }
    rates = {}
    for name, made in makers.items():
        with _tf32(name == "tf32"), contextlib.suppress(_Missing):
            rates[name] = max(map(_best_rate, made))
    return {str(name): rate for name, rate in rates.items()}


class _Missing(Exception):
    """The device, or this torch, has no such product."""


def _best_rate(make: Callable[[int], Product]) -> float:
    """Over sides that double until a product takes long: on many GPUs float64 is 64 times slower than float32."""
    best = 0.0
    for side in _SIDES:
        product = _tried(make, side)
        seconds = best_seconds(product)
        best = max(best, 2 * side**3 / seconds)
        if seconds > _SLOW_S:
            break
    return best


def _tried(make: Callable[[int], Product], side: int) -> Product:
    try:
        product = make(side)
        product()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, NotImplementedError, AttributeError, ValueError) as error:  # as old torch and old GPUs say it
        raise _Missing from error
    return product


def _plain(dtype: torch.dtype) -> tuple[Callable[[int], Product], ...]:
    def plain(side: int, transposed: tuple[bool, bool]) -> Product:
        left, right = (
            matrix.t() if is_transposed else matrix
            for matrix, is_transposed in zip((_random(side, dtype), _random(side, dtype)), transposed, strict=True)
        )
        return lambda: torch.matmul(left, right)

    kinds = ((False, False), (False, True), (True, False))
    return tuple(functools.partial(plain, transposed=kind) for kind in kinds)


def _random(side: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.rand(side, side, device="cuda").to(dtype)


def _scaled(side: int) -> Product:
    """As scaled products want it: the right operand column by column."""
    left, right = (torch.rand(side, side, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(
        left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _integers(side: int) -> Product:
    left, right = (torch.randint(-128, 128, (side, side), dtype=torch.int8, device="cuda") for _ in range(2))
    return lambda: torch._int_mm(left, right.t())


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def measure_multiply_adds() -> float | None:
    """float32, in registers: each thread turns eight independent chains. None where torch can't compile it at run
    time."""
    chains = range(_CHAINS)
    source = (
        "template <typename T> T chains(T x) {\n"
        + "".join(f"  T v{i} = x + T({i});\n" for i in chains)
        + f"  for (int step = 0; step < {_STEPS}; ++step) {{\n"
        + "".join(f"    v{i} = v{i} * x + x;\n" for i in chains)
        + "  }\n  return "
        + " + ".join(f"v{i}" for i in chains)
        + ";\n}\n"
    )
    numbers = torch.rand(_THREADS, device="cuda")
    try:
        multiply_add = torch.cuda.jiterator._create_jit_fn(source)
        multiply_add(numbers)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, AttributeError):
        return None
    return 2.0 * _CHAINS * _STEPS * _THREADS / best_seconds(lambda: multiply_add(numbers))

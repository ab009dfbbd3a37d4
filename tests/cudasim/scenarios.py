"""Run as a process: builds kernels.cu once, runs each scenario on the simulator, prints what came of it as JSON.

A process of its own, since the simulator must come before torch and a fault ends the device.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from inspect import isfunction
from pathlib import Path
from typing import Any

from harness.cudasim.toolkit import Toolkit
from harness.devices.sim.device import SimDevice, activate
from harness.sandbox.wire.device import Account, BufferHandle

DEVICE = activate(Toolkit(Path(sys.argv[1])))

import torch  # noqa: E402 - the simulator is there by now
from torch import nn  # noqa: E402
from torch.utils.cpp_extension import load_inline  # noqa: E402

from harness.sandbox.wire.input_form import take_apart, takes_parts  # noqa: E402
from tests.cudasim import graph_scenarios  # noqa: E402

DECLARATIONS = """
torch::Tensor vector_add(torch::Tensor a, torch::Tensor b);
torch::Tensor matmul(torch::Tensor a, torch::Tensor b);
torch::Tensor reverse(torch::Tensor x);
torch::Tensor racing(torch::Tensor x);
torch::Tensor positions();
torch::Tensor convolve(torch::Tensor x);
std::vector<torch::Tensor> reduce(torch::Tensor x);
torch::Tensor scale(torch::Tensor x, double by);
torch::Tensor halves(torch::Tensor a, torch::Tensor b);
torch::Tensor big_shared(torch::Tensor x, bool opts_in, bool checks);
torch::Tensor big_shared_template(torch::Tensor x);
std::vector<torch::Tensor> eight_bits(torch::Tensor x, bool is_e4m3);
std::vector<torch::Tensor> all_eight_bits(torch::Tensor x, bool is_e4m3);
torch::Tensor copies_behind(torch::Tensor x);
void asm_out_of_bounds(torch::Tensor x);
void copy_out_of_bounds(torch::Tensor x);
void matrix_rows(torch::Tensor x, int64_t offset);
std::vector<torch::Tensor> library_in_tf32(torch::Tensor x);
void library_behind(torch::Tensor x);
void out_of_bounds(torch::Tensor x, int64_t at);
void misaligned_above(torch::Tensor x);
void too_many_threads(torch::Tensor x);
bool too_many_threads_handled(torch::Tensor x);
void too_many_for_its_bounds(torch::Tensor x);
torch::Tensor too_many_for_its_bounds_handled(torch::Tensor x);
void deadlock();
void own_streams();
void early_exit(torch::Tensor out);
void uninitialised_shared(torch::Tensor out);
void shared_overrun(torch::Tensor out);
void device_assert(torch::Tensor x);
void divide_by_zero(torch::Tensor x);
void deep_stack(torch::Tensor x);
void inactive_lane(torch::Tensor x);
torch::Tensor pool(torch::Tensor x, bool wide);
void nested_launch(torch::Tensor out);
torch::Tensor long_work(torch::Tensor x, int64_t blocks, int64_t steps);
torch::Tensor long_first_blocks(torch::Tensor x, int64_t blocks, int64_t steps);
int64_t on_a_stream(torch::Tensor x, torch::Tensor y, std::string what);
torch::Tensor shape_from_a_list(torch::Tensor x);
"""

GiB = 1 << 30
PERIOD = 64 << 20


def main() -> None:
    functions = [line.split("(")[0].split()[-1] for line in DECLARATIONS.strip().splitlines()]
    with tempfile.TemporaryDirectory() as build:
        extension = load_inline(
            "harness_sim_tests",
            cpp_sources=DECLARATIONS,
            cuda_sources=Path(__file__).with_name("kernels.cu").read_text(),
            functions=functions,
            build_directory=build,
        )
        print(json.dumps({name: _run(DEVICE, extension, scenario) for name, scenario in SCENARIOS.items()}))


def _run(device: SimDevice, extension: Any, scenario: Callable[[SimDevice, Any], object]) -> dict[str, object]:
    device.take_findings()
    before = device.account()
    error = None
    value: object = None
    try:
        value = scenario(device, extension)
        device.synchronize()
    except RuntimeError as raised:
        error = str(raised).splitlines()[0]
    findings, launches = device.take_findings()
    device.reset_errors()
    return {
        "value": value,
        "error": error,
        "findings": [asdict(f) for f in findings],
        "launches": launches,
        "accounts": [before and asdict(before), asdict(device.account() or Account(-1, {}, -1))],
    }


def _close(result: Any, expected: Any) -> bool:
    return torch.allclose(result.cpu().double(), expected.double(), atol=1e-4)


def vector_add(device: SimDevice, extension: Any) -> object:
    a, b = torch.rand(1000), torch.rand(1000)
    return _close(extension.vector_add(a.cuda(), b.cuda()), a + b)


def vector_add_of_cpu_tensors(device: SimDevice, extension: Any) -> object:
    return extension.vector_add(torch.rand(4), torch.rand(4))


def matmul(device: SimDevice, extension: Any) -> object:
    a, b = torch.rand(50, 50), torch.rand(50, 50)
    return _close(extension.matmul(a.cuda(), b.cuda()), a @ b)


def trace(device: SimDevice, extension: Any) -> object:
    """Names in a trace: a kernel of the extension, operators of torch; nothing of what ran before or after it."""
    x = torch.rand(1, 1, 8, 8).cuda().sigmoid()
    device.start_trace()
    y = extension.vector_add(x.flatten(), x.flatten())
    torch.nn.functional.max_pool2d(y.view(1, 1, 8, 8) * 2, 2)
    rows = device.take_trace() or ()
    x.tanh()
    device.start_trace()
    return [sorted({row.name for row in rows}), device.take_trace(), device.take_trace()]


def trace_elements(device: SimDevice, extension: Any) -> object:
    """What runs while a trace is taken, on either side, by name: how often, how many elements operators are given, and
    in how many blocks."""
    host, cuda = torch.rand(8, 8), torch.rand(8, 8).cuda()
    host @ host
    device.start_trace()
    torch.nn.functional.linear(host, host)
    torch.stack([cuda, cuda]).sum()
    torch.complex(cuda, cuda).sum()
    extension.vector_add(cuda.flatten(), cuda.flatten())
    (cuda.cpu() * 2).cuda()
    rows = device.take_trace() or ()
    host @ host
    names = ("aten::mm", "aten::stack", "aten::cat", "aten::sum", "aten::mul", "kernels::add")
    of = {name: [row for row in rows if row.name == name] for name in names}
    sums = {name: [sum(row.elements for row in found), sum(row.blocks for row in found)] for name, found in of.items()}
    return {name: [len(found), *sums[name]] for name, found in of.items() if found}


def drained(device: SimDevice, extension: Any) -> object:
    """Names in a trace whose report somebody else has taken meanwhile."""
    x = _vector(8)
    device.start_trace()
    extension.vector_add(x, x)
    device._runtime.take_report()
    return [row.name for row in device.take_trace() or ()]


def reverse(device: SimDevice, extension: Any) -> object:
    results = []
    for dtype in (torch.float32, torch.float64, torch.float16):
        x = torch.arange(256).to(dtype)
        results.append(_close(extension.reverse(x.cuda()), x.view(4, 64).flip(1).reshape(-1)))
    return results


def positions(device: SimDevice, extension: Any) -> object:
    expected = torch.arange(30).view(30, 1) * 1000 + torch.arange(24)
    return bool(torch.equal(extension.positions().cpu(), expected.int()))


def convolve(device: SimDevice, extension: Any) -> object:
    return extension.convolve(torch.tensor([1.0, 10.0, 100.0, 1000.0]).cuda()).tolist()


def reduce(device: SimDevice, extension: Any) -> object:
    return [t.item() for t in extension.reduce(torch.ones(1000).cuda())]


def scale(device: SimDevice, extension: Any) -> object:
    return extension.scale(torch.arange(8.0).cuda(), 2.0).tolist()


def copies_behind(device: SimDevice, extension: Any) -> object:
    x = torch.arange(32.0).cuda()
    before, after = extension.copies_behind(x).view(2, 32)
    return [bool(before.isnan().all()), bool((after == x).all())]


def asm_out_of_bounds(device: SimDevice, extension: Any) -> object:
    return extension.asm_out_of_bounds(torch.zeros(1000).cuda())


def copy_out_of_bounds(device: SimDevice, extension: Any) -> object:
    return extension.copy_out_of_bounds(torch.zeros(1000).cuda())


def halves(device: SimDevice, extension: Any) -> object:
    a = torch.tensor([1.0, 2.0], dtype=torch.float16).cuda()
    return extension.halves(a, torch.tensor([3.0, 0.5], dtype=torch.bfloat16).cuda()).tolist()


def opted_in_shared(device: SimDevice, extension: Any) -> object:
    return extension.big_shared(torch.ones(25600).cuda(), True, True).item()


EIGHT_BITS = (torch.float8_e4m3fn, torch.float8_e5m2)


def _eight_bits_are_torchs(extension: Any, dtype: torch.dtype) -> bool:
    """Hold all codes, all ties between them and what is too large or too small to torch's conversions."""
    codes = torch.arange(256, dtype=torch.uint8)
    values, most = codes.view(dtype).float(), torch.finfo(dtype).max
    finite = values[values.isfinite()].sort().values
    ties = (finite[1:] + finite[:-1]) / 2
    extremes = torch.tensor([torch.inf, -torch.inf, 1e30, most * 1.05, -1e-30, 2.0**-150])
    given = torch.cat([finite, ties, ties.nextafter(finite[1:]), ties.nextafter(finite[:-1]), extremes])
    given = torch.cat([given, torch.ones(-len(given) % 32)])
    is_e4m3 = dtype is torch.float8_e4m3fn
    out, bits = (one.cpu() for one in extension.eight_bits(given.cuda(), is_e4m3))
    want = given.clamp(-most, most).to(dtype)
    widened, back = (one.cpu() for one in extension.all_eight_bits(codes.cuda(), is_e4m3))
    is_number = ~values.isnan()
    return (
        torch.equal(out, want.float())
        and torch.equal(bits, want.view(torch.uint8))
        and torch.equal(widened.nan_to_num(3e4, 4e4, -4e4), values.nan_to_num(3e4, 4e4, -4e4))
        and torch.equal(back[is_number], codes[is_number])
    )


def _vector(*shape: int) -> Any:
    return torch.ones(*shape, device="cuda")


def _zeros_on_host() -> Any:
    return torch.zeros(4)


def pinned_pointer(device: SimDevice, extension: Any) -> object:
    pinned = _zeros_on_host().pin_memory()
    extension.out_of_bounds(pinned, 2)
    return pinned.tolist()


def _integers() -> Any:
    return torch.zeros(32, dtype=torch.int32, device="cuda")


def early_exit(device: SimDevice, extension: Any) -> object:
    out = _vector(40)
    extension.early_exit(out)
    return out[:3].tolist()


def uninitialised_shared(device: SimDevice, extension: Any) -> object:
    out = _vector(96)
    extension.uninitialised_shared(out)
    is_poison = out.view(torch.int32) == -1  # as what nobody wrote, which isn't held against a sampled launch
    return [*(bool(out[i].isnan()) for i in (15, 16, 47, 48)), bool(is_poison.any())]


def unwritten_output(device: SimDevice, extension: Any) -> object:
    return bool(torch.empty(1000, device="cuda").isnan().all())


def error_is_sticky(device: SimDevice, extension: Any) -> object:
    extension.out_of_bounds(_vector(16), 16)
    return _vector(3).sum().item()


def _memfd(nbytes: int) -> int:
    fd = os.memfd_create("test")
    os.ftruncate(fd, nbytes)
    return fd


def shared_buffer(device: SimDevice, extension: Any) -> object:
    fd = _memfd(8192)
    os.pwrite(fd, b"\x00\x00\x80\x3f" * 1000, 4192)
    x = device.open_buffer(BufferHandle("memfd", nbytes=4000, offset=4192), fd).view(torch.float32)
    doubled = extension.scale(x, 2.0)
    device.store(doubled, x)
    return [str(x.device), list(x.shape), os.pread(fd, 4, 4188).hex(), os.pread(fd, 4, 4192).hex()]


def read_behind_shared_buffer(device: SimDevice, extension: Any) -> object:
    buffer = device.open_buffer(BufferHandle("memfd", nbytes=4000, offset=4192), _memfd(8192))
    extension.out_of_bounds(buffer.view(torch.float32), 1000)
    return None


def _big_input(device: SimDevice) -> Any:
    """More elements than 32 bits count: 4.5e9 floats on 64 MiB of memory."""
    fd = _memfd(PERIOD)
    os.pwrite(fd, b"\x00\x00\x80\x3f\x00\x00\x40\x40" * (PERIOD // 8), 0)
    handle = BufferHandle("periodic_memfd", nbytes=18 * GiB, period=PERIOD)
    return device.open_buffer(handle, fd).view(torch.float32)


def installed_triton(device: SimDevice, extension: Any) -> object:
    with tempfile.TemporaryDirectory() as packages:
        (Path(packages) / "triton.py").write_text("language = 1\n")
        sys.path.insert(0, packages)
        try:
            from triton import language
        except ImportError as error:
            return str(error)
        finally:
            sys.path.remove(packages)
    return language


def _pool(device: SimDevice, extension: Any, wide: bool) -> object:
    device.limit_launches(4, seed=1)
    try:
        out = device.measure(lambda: extension.pool(_big_input(device), wide), lambda result: ()).result
        device.synchronize()
        fd = _memfd(9 * GiB)
        destination = device.open_buffer(BufferHandle("memfd", nbytes=9 * GiB), fd).view(torch.float32)
        assert isinstance(out, torch.Tensor)
        device.store(out, destination)
        stored = [float(destination[i]) for i in (0, 255, 256, -1)]
        return [stored[:2], stored[3], os.fstat(fd).st_blocks * 512 <= 4 * 4096]
    finally:
        device.limit_launches()


def begins_with_the_last(device: SimDevice, extension: Any) -> object:
    """A race whose values are right where the first thread of a block comes last."""
    try:
        found = []
        for seed in (0, 1):
            device.limit_launches(None, seed)
            found.append(extension.racing(5 + _vector(64)).unique().tolist())
        return found
    finally:
        device.limit_launches()


def lazy_zeros(device: SimDevice, extension: Any) -> object:
    """Neither poison nor zeros of a large tensor may take memory."""
    before = _resident_nbytes()
    kept = [torch.empty(4 * GiB, dtype=torch.uint8, device="cuda"), torch.zeros(GiB, device="cuda")]
    kept.append(torch.empty(GiB, device="cuda").fill_(0))
    values = [int(kept[0][12345]), float(kept[1][-1]), float(kept[2][77])]
    return [*values, _resident_nbytes() - before < 100 << 20]


def _resident_nbytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def torch_surface(device: SimDevice, extension: Any) -> object:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    layer = torch.nn.Linear(4, 2).cuda()
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
        y = layer(torch.rand(3, 4, device="cuda"))
    end.record()
    torch.cuda.synchronize()
    return [
        torch.cuda.is_available(),
        torch.cuda.device_count(),
        torch.cuda.get_device_capability(),
        torch.cuda.get_device_properties(0).multi_processor_count,
        y.is_cuda,
        list(y.shape),
        start.elapsed_time(end) >= 0,
        str(torch.randn(2, device="cuda", generator=torch.Generator("cuda").manual_seed(1)).device),
    ]


def torch_streams(device: SimDevice, extension: Any) -> object:
    """What solutions do around streams, and marks for profilers."""
    side = torch.cuda.Stream(priority=-1)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.cuda.nvtx.range("part"):
        y = torch.ones(2).cuda(non_blocking=True) * 2
    y.record_stream(side)
    torch.cuda.current_stream().wait_stream(side)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        product = torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
    return [
        y.tolist(),
        str(product.dtype),
        side.priority,
        torch.cuda.Stream.priority_range(),
        side == torch.cuda.current_stream(),
        torch.cuda.is_current_stream_capturing(),
        torch.cuda.memory_summary(),
        torch.cuda.initial_seed() == torch.initial_seed(),
    ]


def inference_mode(device: SimDevice, extension: Any) -> object:
    """Views of tensors that were made before, and results of operators on them."""
    layer, x = nn.Linear(4, 2).cuda(), torch.ones(3, 4, device="cuda")
    with torch.inference_mode():
        views = [x.t(), x[0], x.view(12), layer.weight.t()]
        result = layer(x) - x @ layer.weight.t() - layer.bias
    x[0] = 5
    return [
        *(view.is_inference() for view in views),
        views[1].tolist(),
        result.is_inference(),
        result.abs().max().item() < 1e-5,
    ]


def torch_modules(device: SimDevice, extension: Any) -> object:
    """What solutions take from torch.cuda's own modules is the simulator's, too."""
    torch.cuda.memory.set_per_process_memory_fraction(0.9)
    graphs = torch.cuda.graphs.CUDAGraph is torch.cuda.CUDAGraph
    return [graphs, torch.cuda.streams.Stream is torch.cuda.Stream, torch.cuda.memory.memory_allocated()]


def lazy_conjugates(device: SimDevice, extension: Any) -> object:
    """Operators on tensors whose conjugation or negation is a flag, read and written, as the host computes them."""
    z = torch.randn(4, 4, dtype=torch.complex64)

    def overwritten(values: torch.Tensor) -> torch.Tensor:
        values = values.clone()
        values.conj().copy_(values * 2)
        values.conj()[0].fill_(1 + 2j)
        return values

    made: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        lambda values: values.conj().resolve_conj(),
        lambda values: values.conj().clone(),
        lambda values: values.conj() * 2,
        lambda values: values.mH.contiguous(),
        lambda values: values.conj().t() @ values,
        lambda values: values.conj()[1:, ::2].sum(0),
        lambda values: values.conj().imag.resolve_neg(),
        lambda values: values.conj().imag + 1,
        lambda values: values.conj().conj().clone(),
        overwritten,
    )
    return [torch.allclose(make(z.cuda()).cpu(), make(z), atol=1e-4) for make in made]


def torch_operators(device: SimDevice, extension: Any) -> object:
    """Layers on the device give what they give on the CPU, gradients included."""
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, 3, groups=6), nn.ReLU(), nn.Flatten(), nn.Linear(96, 2))
    on_device = copy.deepcopy(model).cuda()
    x = torch.rand(2, 3, 8, 8)
    y, expected = on_device(x.cuda()), model(x)
    y.sum().backward()
    expected.sum().backward()
    grads = [(a.grad, b.grad) for a, b in zip(on_device.parameters(), model.parameters(), strict=True)]
    return [y.is_cuda, _close(y, expected), all(_close(a, b) for a, b in grads)]


def operator_without_cpu_kernel(device: SimDevice, extension: Any) -> object:
    return torch.ops.aten._fused_dropout(torch.rand(2, 8, device="cuda"), 0.5)


def sparse_parts(device: SimDevice, extension: Any) -> object:
    """Say of each kind of sparse tensor whether its parts are those that it was made of."""
    dense, found = torch.eye(4), {}
    for kind in ("csr", "csc", "bsr", "bsc", "coo"):
        parts: list[Any] = []
        block = {"blocksize": (2, 2)} if kind.startswith("bs") else {}
        form = take_apart(getattr(dense, f"to_sparse_{kind}")(**block), parts)
        on_device = [part.cuda() for part in parts]
        again: list[Any] = []
        made = takes_parts(lambda whole: whole, (form,))(*on_device)
        assert made.is_cuda
        assert take_apart(made, again) == form
        found[kind] = [one.data_ptr() for one in again] == [one.data_ptr() for one in on_device]
    return found


def sparse_product(device: SimDevice, extension: Any) -> object:
    return torch.sparse.mm(torch.eye(3, device="cuda").to_sparse_coo(), torch.ones(3, 3, device="cuda"))


def sparse_to_dense(device: SimDevice, extension: Any) -> object:
    crow, col = (torch.tensor(one, device="cuda") for one in ([0, 1], [0]))
    return torch.sparse_csr_tensor(crow, col, torch.ones(1, device="cuda"), (1, 1), check_invariants=False).to_dense()


def recurrent_layers(device: SimDevice, extension: Any) -> object:
    """Say of each kind whether it gives what the CPU gives, with several layers, both directions, without biases."""
    found = {}
    with torch.no_grad():
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            for options in ({"num_layers": 2}, {"bidirectional": True}, {"bias": False, "batch_first": True}):
                layer = kind(5, 4, **options)
                x = torch.randn(3, 7, 5)
                expected = layer(x)
                got = copy.deepcopy(layer).cuda()(x.cuda())
                flat = [torch.utils._pytree.tree_leaves(each) for each in (got, expected)]
                assert all(one.is_cuda for one in flat[0])
                pairs = list(zip(*flat, strict=True))
                found[f"{kind.__name__} {options}"] = all(torch.allclose(a.cpu(), b, atol=1e-6) for a, b in pairs)
    return found


def recurrent_gradient(device: SimDevice, extension: Any) -> object:
    layer = torch.nn.LSTM(5, 4).cuda()
    return layer(torch.rand(3, 2, 5, device="cuda"))[0].sum().backward()


def mixed_devices(device: SimDevice, extension: Any) -> object:
    return torch.rand(3, device="cuda") + torch.rand(3)


def mixed_devices_in_a_list(device: SimDevice, extension: Any) -> object:
    return torch.cat([torch.rand(3, device="cuda"), torch.rand(3)])


def rows_chosen_from_another_device(device: SimDevice, extension: Any) -> object:
    return nn.functional.embedding(torch.tensor([1], device="cuda"), torch.rand(3, 2))


def index_on_the_host(device: SimDevice, extension: Any) -> object:
    """An index in brackets may lie there on a GPU as well."""
    x = torch.arange(3.0, device="cuda")
    x[torch.tensor([0])] = torch.tensor(5.0)
    return x[torch.tensor([2, 0])].tolist()


def traced(device: SimDevice, extension: Any) -> object:
    convolution = nn.Conv2d(1, 2, 3).cuda().requires_grad_(False)
    module = torch.jit.trace(convolution, torch.rand(1, 1, 4, 4, device="cuda"))
    x = torch.rand(1, 1, 5, 5, device="cuda")
    return torch.equal(module(x), convolution(x))


def _long_work(device: SimDevice, extension: Any, blocks: int, steps: int, launches: int = 1) -> object:
    """How long it took, with a fifth of a second for all launches together."""
    device.limit_launches(seconds=0.2)
    started = time.monotonic()
    try:
        for _ in range(launches):
            extension.long_work(_vector(1), blocks, steps)
        device.synchronize()
    finally:
        took = time.monotonic() - started
        device.limit_launches()
    return took


def slowed_by_others(device: SimDevice, extension: Any) -> None:
    """It stands still for longer than the launch may take, which computes for a third of that."""
    device.limit_launches(seconds=1)
    with subprocess.Popen(["sh", "-c", f"sleep 0.1; kill -STOP {os.getpid()}; sleep 1.5; kill -CONT {os.getpid()}"]):
        extension.long_work(_vector(1), 64, 100_000)
    device.limit_launches()


def long_first_blocks(device: SimDevice, extension: Any) -> object:
    """They take thousandths of a second each, after a launch that took a sixteenth of the time for all."""
    device.limit_launches(seconds=8.0)
    try:
        extension.long_work(_vector(1), 1, 20_000_000)
        extension.long_first_blocks(_vector(1), 10_000, 100_000)
        device.synchronize()
    finally:
        device.limit_launches()
    return None


OWN = {
    name: made
    for module in (sys.modules[__name__], graph_scenarios)
    for name, made in vars(module).items()
    if isfunction(made) and made.__module__ == module.__name__
}
SCENARIOS: dict[str, Callable[[SimDevice, Any], object]] = {
    "work_within_limit": lambda device, extension: _long_work(device, extension, 64, 100),
    "too_many_blocks": lambda device, extension: _long_work(device, extension, 1 << 20, 100_000),
    "too_many_launches": lambda device, extension: _long_work(device, extension, 64, 20_000, 1000),
    "one_long_block": lambda device, extension: _long_work(device, extension, 1, 20_000_000),
    "begins_with_the_last": begins_with_the_last,
    "shape_from_a_list": lambda device, extension: list(extension.shape_from_a_list(torch.ones(3, 5).cuda()).shape),
    "host_pointer": lambda _, e: e.out_of_bounds(_zeros_on_host(), 0),
    "misaligned": lambda _, e: e.scale(_vector(9)[1:], 2.0).tolist(),
    "eight_bits": lambda _, e: [_eight_bits_are_torchs(e, dtype) for dtype in EIGHT_BITS],
    "compiled": lambda _, e: torch.compile(torch.compile(mode="max-autotune")(torch.neg))(_vector(2)).tolist(),
    "misaligned_rows": lambda _, e: e.matrix_rows(_vector(32), 8),
    "rows_behind": lambda _, e: e.matrix_rows(_vector(32), 1 << 24),
    "misaligned_above": lambda _, e: e.misaligned_above(_vector(200)),
    "unopted_shared": lambda _, e: e.big_shared(_vector(25600), False, False).isnan().item(),
    "unopted_shared_checked": lambda _, e: e.big_shared(_vector(25600), False, True).item(),
    "opted_in_template": lambda _, e: e.big_shared_template(_vector(25600)).item(),
    "out_of_bounds_after": lambda _, e: e.out_of_bounds(_vector(16), 16),
    "library_in_tf32": lambda _, e: [one.max().item() for one in e.library_in_tf32(1 + _vector(2).fill_(2**-13))],
    "library_behind": lambda _, e: e.library_behind(_vector(16)),
    "out_of_bounds_before": lambda _, e: e.out_of_bounds(_vector(1024), -1),
    "too_many_threads": lambda _, e: e.too_many_threads(_vector(16)),
    "too_many_threads_handled": lambda _, e: e.too_many_threads_handled(_vector(16)),
    "too_many_for_its_bounds": lambda _, e: e.too_many_for_its_bounds(_vector(4)),
    "too_many_for_its_bounds_handled": lambda _, e: e.too_many_for_its_bounds_handled(_vector(4)).tolist(),
    "deadlock": lambda _, e: e.deadlock(),
    "own_streams": lambda _, e: e.own_streams(),
    "shared_overrun": lambda _, e: e.shared_overrun(_vector(16)),
    "device_assert": lambda _, e: e.device_assert(-_vector(4)),
    "divide_by_zero": lambda _, e: e.divide_by_zero(_integers()),
    "deep_stack": lambda _, e: e.deep_stack(_vector(4)),
    "inactive_lane": lambda _, e: e.inactive_lane(_integers()),
    "nested_launch": lambda _, e: e.nested_launch(_integers()),
    "narrow_index_at_full_shape": lambda d, e: _pool(d, e, wide=False),
    "wide_index_at_full_shape": lambda d, e: _pool(d, e, wide=True),
    **{name: made for name, made in OWN.items() if name != "main" and not name.startswith("_")},
}
"""The functions come last: what opted_in_shared() allows a kernel stays allowed."""

if __name__ == "__main__":
    main()

"""What solutions do with CUDA graphs, for scenarios.py: in its process the simulator came before torch."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from harness.devices.sim.device import SimDevice

Work = Callable[[torch.Tensor, torch.Tensor], object]

BY_FUNCTION = (
    "cudaLaunchKernel",
    "cudaLaunchKernel by address",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchKernelEx",
    "cudaLaunchKernelExC",
)

POISON = 7.0
"""What an output holds before anything is captured."""


def _captured(work: Work) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Capture the work on an input of ones and an output of poison; return these and the graph."""
    x, y = torch.ones(32, device="cuda"), torch.full((32,), POISON, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(x, y)
    return x, y, graph


def _seen(work: Work) -> list[float]:
    """An element of the output after the capture, and after a replay for an input of threes."""
    x, y, graph = _captured(work)
    after = y[0].item()
    x.fill_(3)
    graph.replay()
    return [after, y[0].item()]


def graph_of_an_extension(device: SimDevice, extension: Any) -> object:
    whats = ["kernel", "kernel by a variable's name", "copy", "fill"]
    whats += ["kernel on the default stream", "kernel on torch's default stream"]
    whats += BY_FUNCTION
    return {what: _seen(lambda x, y, what=what: extension.on_a_stream(x, y, what)) for what in whats}


def graph_of_numbers_on_the_host(device: SimDevice, extension: Any) -> object:
    """An operator takes their values when it is captured; only copies read them at each replay."""
    works: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]] = {
        "operand": lambda x, y, number: torch.mul(x, number, out=y),
        "in place": lambda x, y, number: y.mul_(number),
        "fill": lambda x, y, number: y.fill_(number),
        "by a mask": lambda x, y, number: y.__setitem__(x > 0, number),
        "copy": lambda x, y, number: y.copy_(number, non_blocking=True),
        "to": lambda x, y, number: y.copy_(number.to("cuda", non_blocking=True)),
    }
    found = {}
    for name, work in works.items():
        number = torch.tensor(2.0).pin_memory()
        _, y, graph = _captured(lambda x, y, work=work, number=number: work(x, y, number))  # type: ignore[misc]
        number.fill_(10)
        graph.replay()
        found[name] = y[0].item()
    return found


def graph_after_a_warm_up(device: SimDevice, extension: Any) -> object:
    x, y, side = torch.ones(32, device="cuda"), torch.empty(32, device="cuda"), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        extension.on_a_stream(x, y, "kernel")
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), stream=side):
        capturing = torch.cuda.is_current_stream_capturing(), torch.cuda.current_stream().cuda_stream != 0
        extension.on_a_stream(x, y, "kernel")
    results = []
    for value, replay in ((2.0, torch.cuda.CUDAGraph.replay), (5.0, torch._C._CUDAGraph.replay)):
        x.copy_(torch.full((32,), value))
        replay(graph)
        results.append(y.sum().item() / 32)
    return [*capturing, torch.cuda.is_current_stream_capturing(), *results]


def graph_of_operators_and_kernels(device: SimDevice, extension: Any) -> object:
    """What the kernel reads is memory that only the graph still knows."""
    x, graph = torch.arange(8.0, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = torch.relu(extension.vector_add(x - 5, x * 2)).view(2, 4).sum(1)
    gc.collect()
    torch.cuda.empty_cache()
    before = result.isnan().all().item()
    results = []
    for first in (0, 4):
        x.copy_(torch.arange(first, first + 8.0))
        graph.replay()
        results.append(result.tolist())
    return [before, *results]


def graph_of_a_network(device: SimDevice, extension: Any) -> object:
    """Operators in place, with `out=`, with flags, and those that are made of others, in each mode of gradients."""
    layers = (
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(72, 4),
    )
    network = nn.Sequential(*layers, nn.LayerNorm(4)).cuda().eval()

    def computed(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            torch.mul(x, 2, out=out)
        parts = network(out).softmax(-1).split(2, dim=1)
        return torch.cat([parts[1], parts[0] * 2], dim=1)

    found = {}
    for mode in (torch.no_grad, torch.enable_grad, torch.inference_mode):
        x, graph = torch.randn(2, 3, 8, 8, device="cuda"), torch.cuda.CUDAGraph()
        with mode():
            out = torch.empty_like(x)
            with torch.cuda.graph(graph):
                result = computed(x, out)
        before = result.isnan().all().item()
        x.copy_(torch.randn(2, 3, 8, 8))
        with torch.autocast("cuda", dtype=torch.bfloat16):  # which the capture hasn't seen
            graph.replay()
        found[mode.__name__] = [before, torch.allclose(result, computed(x, torch.empty_like(x)), atol=1e-6)]
    return found


def graphed_callables(device: SimDevice, extension: Any) -> object:
    plain = nn.Linear(4, 2).cuda()
    graphed = torch.cuda.make_graphed_callables(nn.Linear(4, 2).cuda(), (torch.randn(3, 4, device="cuda"),))
    graphed.load_state_dict(plain.state_dict())
    x = torch.randn(3, 4, device="cuda")
    result, wanted = graphed(x), plain(x)
    result.sum().backward()
    wanted.sum().backward()
    return [torch.equal(result, wanted), torch.allclose(graphed.weight.grad, plain.weight.grad)]


def graph_without_launches(device: SimDevice, extension: Any) -> object:
    """Replays are launches as any other: counted, and without effect where launches are switched off."""
    _, y, graph = _captured(lambda x, y: extension.on_a_stream(x, y, "kernel"))
    device.limit_launches(0)
    try:
        graph.replay()
    finally:
        device.limit_launches()
    return y[0].item()


def graph_past_the_end(device: SimDevice, extension: Any) -> object:
    *_, graph = _captured(lambda x, y: extension.on_a_stream(x, y, "kernel past the end"))
    device.synchronize()  # nothing has run
    graph.replay()
    return "not reached"


def graph_never_captured(device: SimDevice, extension: Any) -> object:
    return torch.cuda.CUDAGraph().replay()


def _errors(work: Work) -> list[str | None]:
    """The error of the work, and that of the capture's end."""
    inside: list[str | None] = [None]

    def tried(x: torch.Tensor, y: torch.Tensor) -> None:
        try:
            work(x, y)
        except RuntimeError as error:
            inside[0] = str(error)

    try:
        _captured(tried)
    except RuntimeError as error:
        return [*inside, str(error)]
    return [*inside, None]


def errors_in_a_capture(device: SimDevice, extension: Any) -> object:
    pinned = torch.ones(32).pin_memory()
    works: dict[str, Work] = {
        "item": lambda x, y: x[0].item(),
        "nonzero": lambda x, y: x.nonzero(),
        "mask": lambda x, y: x[x > 0],
        "values by a mask": lambda x, y: y.index_put_((x > 0,), x),
        "values by a mask of bytes": lambda x, y: y.index_put_((x.byte(),), x),
        "values added by a mask": lambda x, y: y.index_put_((x > 0,), x[:1], accumulate=True),
        "values by a mask, elsewhere": lambda x, y: y.index_put((x > 0,), x),
        "synchronize": lambda x, y: torch.cuda.synchronize(),
        "cpu": lambda x, y: x.cpu(),
        "cuda": lambda x, y: y.copy_(torch.ones(32)),
        "from pinned memory": lambda x, y: y.copy_(pinned),
        "from pinned memory without waiting": lambda x, y: y.copy_(pinned, non_blocking=True),
        "indices": lambda x, y: x[torch.arange(4, device="cuda")],
        "values by indices": lambda x, y: y.index_put_((torch.arange(32, device="cuda"),), x),
        "booleans by indices": lambda x, y: (x > 0).index_put_((torch.arange(32, device="cuda"),), y > 0),
        "a number by a mask": lambda x, y: y.masked_fill_(x > 0, 1.0),
        "a number by a mask as index": lambda x, y: y.__setitem__(x > 0, 1.0),
        "tensor": lambda x, y: y.copy_(torch.tensor([1.0], device="cuda")),
        "tensor of a number": lambda x, y: y.copy_(torch.tensor(1.0, device="cuda")),
        "new_tensor": lambda x, y: y.copy_(x.new_tensor([1.0])),
        "as_tensor": lambda x, y: y.copy_(torch.as_tensor([1.0], device="cuda")),
        "tensor of a tensor": lambda x, y: y.copy_(torch.tensor(x)),
        "tensor of nothing": lambda x, y: torch.tensor([], device="cuda"),
    }
    for what in ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaMalloc"):
        works[what] = lambda x, y, what=what: extension.on_a_stream(x, y, what)  # type: ignore[misc]
    return {name: _errors(work) for name, work in works.items()}


def gaps_in_a_capture(device: SimDevice, extension: Any) -> object:
    whats = ("cudaMallocAsync", "cudaLaunchHostFunc")
    return {what: _errors(lambda x, y, what=what: extension.on_a_stream(x, y, what)) for what in whats}

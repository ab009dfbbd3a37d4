"""The worker's loop: one request, one reply, until the referee hangs up."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from harness.devices.base import WorkerDevice
from harness.sandbox.wire.frames import PeerClosed, envelope, open_envelope, receive_frame, send_frame
from harness.sandbox.wire.messages import (
    REQUESTS,
    Attach,
    BuildText,
    CompileForGpu,
    CompilersDescribed,
    Construct,
    Describe,
    DescribeCompilers,
    Detach,
    Done,
    GiveBack,
    Load,
    Raised,
    Rehearse,
    Reply,
    Request,
    TakeTurn,
    TraceTried,
    TryTrace,
    WarmUp,
)
from harness.worker.arm import Arm
from harness.worker.extensions import Extensions
from harness.worker.gpu_compilation import compile_for_gpu

_MESSAGE_CHARS = 20_000
_LEAST_CHARS = 1_000
"""Frames are shorter than this, and a message may be as long in any case."""
_LEFT_OUT = " … (the rest is left out)\n"
_OURS = f"{Path(__file__).parents[1]}/"
_PACKAGE = f"{__name__.partition('.')[0]}."
_IMPORT = "<frozen importlib"
"""Python's own import: its frames have no lines."""
_LIBRARIES = (_OURS, f"{Path(torch.__file__).parents[1]}/", f"{Path(traceback.__file__).parent}/", "<frozen ")
"""The folders of code that isn't a solution's: harness, packages, Python's own."""


def serve(
    sock: socket.socket,
    device: WorkerDevice,
    extensions: Extensions,
    protections: tuple[str, ...],
    list_imports: Callable[[], None],
) -> None:
    """Answer requests in order; `protections` are what confines this process. Ends when the socket closes."""
    torch.set_grad_enabled(False)
    if "OMP_NUM_THREADS" not in os.environ:  # torch was imported by a process with more CPUs
        torch.set_num_threads(min(torch.get_num_threads(), len(os.sched_getaffinity(0))))
    arm = Arm(device, extensions, protections)
    # Held here: a solution that puts its own in this module's names changes nothing, and is found out by the guard.
    send, receive, wrap, unwrap, answer = send_frame, receive_frame, envelope, open_envelope, _answer
    while True:
        try:
            frame, descriptors = receive(sock)
        except PeerClosed:
            return
        nonce, request = unwrap(frame, REQUESTS)
        reply = answer(arm, request, descriptors)
        list_imports()
        send(sock, wrap(nonce, reply))


def _answer(arm: Arm, request: Request, descriptors: list[int]) -> Reply:
    try:
        return _dispatch(arm, request, descriptors)
    except Exception as error:  # the border of the process: whatever the solution raised becomes a reply
        findings, launches = arm.device.take_findings()
        return Raised(
            type_name=type(error).__name__,
            message=str(error)[:_MESSAGE_CHARS],
            traceback=_told(error),
            extensions=arm.extensions.take_reports(),
            findings=findings,
            launches=launches,
            account=arm.device.account(),
        )
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _told(error: Exception) -> str:
    """The traceback with the solution's own frames, and with the last one of a library below them: what lies between,
    and what calls a solution, says nothing to its author. It is empty where our own `raise` is all there is. An error
    of ours that has a cause is told as that cause."""
    text = traceback.TracebackException.from_exception(error)
    if text.__cause__ is not None and type(error).__module__.startswith(_PACKAGE):
        text.__cause__.stack[:0] = text.stack
        text = text.__cause__
    told: traceback.TracebackException | None = text
    while told is not None:
        frames = [frame for frame in told.stack[:-1] if not frame.filename.startswith(_LIBRARIES)]
        frames += [frame for frame in told.stack[-1:] if not _says_nothing(frame, frames)]
        told.stack = traceback.StackSummary.from_list(frames)
        told = told.__cause__ or told.__context__
    has_line = isinstance(error, SyntaxError) and error.lineno is not None
    is_all_said = not (text.stack or text.__cause__ or text.__context__ or has_line)  # by the message
    return "" if is_all_said else _within_limit(list(text.format()))


def _within_limit(parts: Sequence[str]) -> str:
    """Join a traceback's frames and messages. Where that is too long, messages keep their beginning, so that they don't
    displace the frames; of very many frames the last stay."""
    most = _MESSAGE_CHARS
    while most > _LEAST_CHARS and sum(min(len(part), most) for part in parts) > _MESSAGE_CHARS:
        most //= 2
    cut = (part if len(part) <= most else f"{part[: most - len(_LEFT_OUT)]}{_LEFT_OUT}" for part in parts)
    return "".join(cut)[-_MESSAGE_CHARS:]


def _says_nothing(last: traceback.FrameSummary, others: Sequence[traceback.FrameSummary]) -> bool:
    is_import = last.filename.startswith(_IMPORT)
    return is_import or (last.filename.startswith(_OURS) and (bool(others) or (last.line or "").startswith("raise ")))


def _dispatch(arm: Arm, request: Request, descriptors: list[int]) -> Reply:
    device, extensions = arm.device, arm.extensions
    answers: dict[type, Callable[[Any], Reply | None]] = {
        WarmUp: arm.warm_up,
        TryTrace: lambda _: TraceTried(device.can_trace()),
        Load: arm.load,
        Attach: lambda attach: arm.attach(attach, descriptors[0] if descriptors else None),
        Detach: arm.detach,
        Construct: arm.construct,
        Rehearse: arm.rehearse,
        TakeTurn: arm.take_turn,
        GiveBack: lambda _: device.give_back(),
        Describe: lambda _: arm.describe(),
        CompileForGpu: lambda calls: compile_for_gpu(calls, extensions.folder),
        DescribeCompilers: lambda _: CompilersDescribed(extensions.compilers()),
        BuildText: lambda text: extensions.build_text(text),
    }
    return answers[type(request)](request) or Done()

"""Compiles what solutions ask for, confined, into a cache by content; nothing of theirs runs where that is for all.

The way of a solution's load_inline():

1. `worker/extensions.py` catches the call in the worker. Where its arguments alone decide how the build comes out, it
   has a text (`sandbox/wire/extension_text.py`), and the text a key: a hash of it and of this machine's compilers.
2. If the build of that key was lent to the worker it is imported. Else the worker reports the text, and its answer is
   worth nothing: TextsNotBuilt.
3. `build.py` hears of it. `texts.py` has the text compiled by a worker that does nothing else and imports nothing, once
   for all who send it, and the solution is loaded anew.
4. `extension_cache.py` keeps what comes of it, a library or a refusal with its log, and lends it to later workers.
5. A call without a text, such as load() of files, is built by the solution's own worker, and kept for the very same
   files alone (`worker/extension_key.py`).

Triton's kernels have no texts: they are compiled when they are launched. While others want the GPU, `rehearsal.py` has
a solution called without values before, and `triton_cache.py` keeps what Triton made, for the very same files.

How torch builds one is `worker/torch_build.py`'s, its fast headers `worker/slim_build.py`'s, the simulator's compilers
`cudasim`'s. The real nvcc is asked about what was built for the simulator as well: `nvcc_check.py`, and
`second_opinion.py` for what follows.
"""

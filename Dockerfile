# For GPU runners:  docker build -t harness .  &&  docker run --rm --gpus all -v "$PWD:/work" harness gate --backend cuda
ARG CUDA=13.0.1
FROM nvidia/cuda:${CUDA}-devel-ubuntu24.04
# torch's build must be for this CUDA.
ARG TORCH=https://download.pytorch.org/whl/cu130
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv python3-dev g++ git bubblewrap \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir --index-url "$TORCH" "torch>=2.6"
COPY pyproject.toml README.md LICENSE /opt/harness/
COPY harness /opt/harness/harness
RUN /opt/venv/bin/pip install --no-cache-dir "/opt/harness[plots]"
ENV PATH=/opt/venv/bin:$PATH HARNESS_CACHE=/var/cache/harness
WORKDIR /work
ENTRYPOINT ["harness"]

# docker build -t lanescope .                     the server, no GPU
# docker build -t lanescope-gpu --target gpu .    with CuPy for "run on GPU"
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -c constraints.txt ".[web,pictures,fleet]"

FROM python:3.12-slim AS base
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 LANESCOPE_HOST=0.0.0.0
RUN useradd --system --uid 10001 --no-create-home lanescope
USER 10001
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ.get(\"LANESCOPE_PORT\", 8000)}/healthz', timeout=2)"]
# Settings: docker run -e LANESCOPE_… (docs/deploy.md). Nothing is written at run time: docker run --read-only works.
CMD ["lanescope", "serve"]

FROM base AS gpu
USER root
COPY constraints.txt /tmp/constraints.txt
RUN pip install --no-cache-dir -c /tmp/constraints.txt "cupy-cuda13x[ctk]>=13.6"
# NVRTC's results are cached in memory only.
ENV CUPY_CACHE_IN_MEMORY=1
USER 10001

FROM base

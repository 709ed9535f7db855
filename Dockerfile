# The explorer and the HTTP API on a CPU, with the bundled models.
#
#   docker build -t polyseme .
#   docker run -p 8000:8000 -e POLYSEME_TOKEN=choose-a-long-one polyseme
#   docker run -p 8000:8000 polyseme polyseme serve --host 0.0.0.0 --public      a demo for everybody

FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python -m venv /opt/polyseme && /opt/polyseme/bin/pip install --no-cache-dir '.[serve]' -c constraints.txt

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 polyseme
COPY --from=build /opt/polyseme /opt/polyseme
ENV PATH=/opt/polyseme/bin:$PATH PYTHONUNBUFFERED=1
USER polyseme
WORKDIR /home/polyseme
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
CMD ["polyseme", "serve", "--host", "0.0.0.0", "--access-log"]

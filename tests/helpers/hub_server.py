"""A model hub on this machine: the few answers of its protocol that downloading and pushing a repository need."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

COMMIT = "0123456789abcdef0123456789abcdef01234567"
Repositories = dict[str, dict[str, bytes]]


@contextmanager
def hub(repositories: Repositories) -> Iterator[tuple[str, list[str]]]:
    """The address of a hub with these repositories (name → file → content), and the list of what it is asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/main", self.path.split("?")[0]):
                self._repository(match[1])
            elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+", self.path.split("?")[0]):
                self._tree(repositories[match[1]])
            elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", self.path):
                self._file(repositories[match[1]][match[2]])
            else:
                self._answer(404, {})

        do_HEAD = do_GET

        def do_POST(self) -> None:
            asked.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/api/repos/create":
                name = "{organization}/{name}".format(**json.loads(body))
                repositories.setdefault(name, {})
                self._answer(200, {"url": f"{address}/{name}"})
            elif self.path == "/api/validate-yaml":
                self._answer(200, {"errors": [], "warnings": []})
            elif self.path.endswith("/preupload/main"):
                files = [
                    {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                    for file in json.loads(body)["files"]
                ]
                self._answer(200, {"files": files})
            elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commit/main", self.path):
                self._commit(match[1], body)
            else:
                self._answer(404, {})

        def _repository(self, name: str) -> None:
            if name not in repositories:
                self._answer(404, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})
                return
            files = [{"rfilename": file} for file in repositories[name]]
            self._answer(200, {"id": name, "sha": COMMIT, "siblings": files, "private": False, "tags": []})

        def _tree(self, files: dict[str, bytes]) -> None:
            tree = [{"type": "file", "path": name, "size": len(x), "oid": name} for name, x in files.items()]
            self._answer(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})

        def _file(self, content: bytes) -> None:
            tag = hashlib.sha1(content).hexdigest()
            self._answer(200, content, {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT})

        def _commit(self, name: str, body: bytes) -> None:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    repositories[name][entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            url = f"{address}/{name}/commit/{COMMIT}"
            self._answer(200, {"commitUrl": url, "commitOid": COMMIT, "success": True})

        def _answer(self, status: int, body: bytes | dict[str, object], headers: dict[str, str] | None = None) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield address, asked
    finally:
        server.shutdown()
        server.server_close()

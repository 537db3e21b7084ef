"""A loopback index over a folder of wheels: PEP 503 pages with hashes, files with single ranges, by sendfile."""

import hashlib
import json
import os
import re
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler


def normalise(name):
    return re.sub(r"[-_.]+", "-", name).lower()


class Index(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder, wanted=None, rate=None, delay=0):
        """`rate`: MB/s on one connection; `delay`: milliseconds until a request is answered."""
        self.folder = folder
        self.rate = rate
        self.delay = delay / 1000
        self.projects = {}
        self.served = []
        for file in sorted(os.listdir(folder)):
            if file.endswith(".whl") and (wanted is None or file in wanted):
                name = normalise(file.split("-")[0])
                self.projects.setdefault(name, []).append((file, digest(os.path.join(folder, file))))
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/simple"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()


def digest(path):
    """Returns a wheel's sha256, kept beside it between runs."""
    note = path + ".sha256"
    if os.path.exists(note) and os.path.getmtime(note) >= os.path.getmtime(path):
        return open(note).read()
    with open(path, "rb") as file:
        text = hashlib.file_digest(file, "sha256").hexdigest()
    with open(note, "w") as file:
        file.write(text)
    return text


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        time.sleep(self.server.delay)
        parts = [part for part in self.path.split("?")[0].split("/") if part]
        if len(parts) == 2 and parts[0] == "simple":
            return self.listing(normalise(parts[1]))
        if len(parts) == 2 and parts[0] == "files":
            return self.file(parts[1])
        self.answer(404, b"", "text/plain")

    def listing(self, name):
        files = self.server.projects.get(name)
        if files is None:
            return self.answer(404, b"", "text/plain")
        if "vnd.pypi.simple.v1+json" in self.headers.get("Accept", ""):
            entries = [
                {"filename": file, "url": f"/files/{file}", "hashes": {"sha256": sha},
                 "size": os.path.getsize(os.path.join(self.server.folder, file))}
                for file, sha in files
            ]
            body = {"meta": {"api-version": "1.1"}, "name": name, "files": entries,
                    "versions": sorted({file.split("-")[1] for file, _ in files})}
            return self.answer(200, json.dumps(body).encode(), "application/vnd.pypi.simple.v1+json")
        links = "".join(f'<a href="/files/{file}#sha256={sha}">{file}</a>\n' for file, sha in files)
        self.answer(200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")

    def file(self, name):
        path = os.path.join(self.server.folder, os.path.basename(name))
        if not os.path.exists(path):
            return self.answer(404, b"", "text/plain")
        size = os.path.getsize(path)
        start, end = 0, size
        tag = f'"{size:x}-{os.stat(path).st_mtime_ns:x}"'
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if self.headers.get("If-Range", tag) != tag:
            asked = None
        if asked and (asked[1] or asked[2]):
            if asked[1]:
                start = int(asked[1])
                end = min(size, int(asked[2]) + 1) if asked[2] else size
            else:
                start = max(0, size - int(asked[2]))
            if start >= size:
                return self.answer(416, b"", "text/plain", {"Content-Range": f"bytes */{size}"})
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.flush()
        self.server.served.append(name)
        with open(path, "rb") as file:
            began, first = time.monotonic(), start
            while start < end:
                count = min(end - start, 1 << 16) if self.server.rate else end - start
                sent = os.sendfile(self.connection.fileno(), file.fileno(), start, count)
                if sent == 0:
                    break
                start += sent
                if self.server.rate:
                    due = began + (start - first) / (self.server.rate * 1e6)
                    time.sleep(max(0, due - time.monotonic()))

    def answer(self, status, body, kind, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


if __name__ == "__main__":
    index = Index(sys.argv[1])
    print(index.url, flush=True)
    index.serve_forever()

#!/usr/bin/python3
"""An HTTP server of one file, by ranges: what a download accelerator needs. usage: ranges.py FILE ADDRESS PORT; prints a line when it serves."""
import contextlib
import http.server
import re
import sys


class Ranges(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, body):
        wanted = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        begin = int(wanted[1]) if wanted else 0
        end = int(wanted[2]) + 1 if wanted and wanted[2] else len(DATA)
        part = DATA[begin:end]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Type", "application/octet-stream")
        if wanted:
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{len(DATA)}")
        self.end_headers()
        if not body:
            return
        with contextlib.suppress(OSError):  # the client takes as much as it wants
            self.wfile.write(part)
        self.close_connection = True

    def log_message(self, *_):
        pass


with open(sys.argv[1], "rb") as file:
    DATA = file.read()
with http.server.ThreadingHTTPServer((sys.argv[2], int(sys.argv[3])), Ranges) as server:
    print("ready", flush=True)
    server.serve_forever()

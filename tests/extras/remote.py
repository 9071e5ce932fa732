"""A file of a web server."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import freestone as fs

Path("points.csv").write_text("1,2\n3,4\n")
handler = partial(SimpleHTTPRequestHandler, directory=".")
with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    points = fs.read(f"http://127.0.0.1:{server.server_port}/points.csv").compute()
    server.shutdown()
assert points.tolist() == [[1, 2], [3, 4]]

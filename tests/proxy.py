"""nginx as docs/nginx.conf has it, on ports of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sensejudge_site.benches.annotate.site import HOST, free_port

NAME: Final = "sensejudge.example"
"""The site's name in the configuration."""

NGINX: Final = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
OPENSSL: Final = shutil.which("openssl")

_START_PATIENCE: Final = 10.0
_MAIN: Final = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def configured(folder: Path, text: str, *, port: int, to: int, static: Path) -> Path:
    """The main file of an nginx with this site, whose own places stand for those of a deployment.

    Args:
        folder: where all of its files go.
        text: the configuration of the documentation.
        port: where it listens for HTTPS.
        to: the port of granian.
        static: what collectstatic wrote.
    """
    key, certificate = folder / "site.key", folder / "site.pem"
    subprocess.run(
        [
            *(str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", f"/CN={NAME}", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    for there, here in {
        "listen 80": f"listen {HOST}:{free_port()}",
        "listen 443": f"listen {HOST}:{port}",
        "127.0.0.1:8000": f"{HOST}:{to}",
        "/etc/ssl/sensejudge.pem": str(certificate),
        "/etc/ssl/sensejudge.key": str(key),
        "/srv/sensejudge/var/static/": f"{static}/",
    }.items():
        if there not in text:
            raise ValueError(f"docs/nginx.conf does not say {there!r}")
        text = text.replace(there, here)
    (folder / "site.conf").write_text(text, encoding="utf-8")
    main = folder / "nginx.conf"
    main.write_text(_MAIN.format(folder=folder), encoding="utf-8")
    return main


@contextmanager
def proxy(text: str, *, to: int, static: Path) -> Iterator[int]:
    """A running nginx; its port for HTTPS."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="sensejudge-proxy-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # its workers are another user where its master is root
        main = configured(folder, text, port=port, to=to, static=static)
        process = subprocess.Popen(
            [str(NGINX), "-p", str(folder), "-c", str(main)],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_for(process, port)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=10)


def connected(port: int, *, source: str = HOST, timeout: float = 20.0) -> ssl.SSLSocket:
    """A connection to the proxy from an address of this machine; its certificate is not known."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    raw = socket.create_connection((HOST, port), timeout=timeout, source_address=(source, 0))
    return context.wrap_socket(raw, server_hostname=NAME)


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.perf_counter() + _START_PATIENCE
    while time.perf_counter() < end and process.poll() is None:
        try:
            connected(port).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("nginx did not come up")

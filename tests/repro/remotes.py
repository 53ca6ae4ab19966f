"""Places that artifacts are shared through: a folder, an SSH server and an S3 endpoint, all here.

The servers are real ones, started on a free port of this machine for as long as the tests last.
"""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest

SSHD = Path("/usr/sbin/sshd")
BUCKET, STORE = "artifacts", "store"


@dataclass(frozen=True)
class Remote:
    """A place that DVC pushes to.

    Attributes:
        url: its address.
        shared: options that everyone needs, kept under version control.
        own: options of one person (`dvc remote modify --local`), kept out of it.
        home: the folder its objects are in, or the S3 endpoint.
    """

    url: str
    home: Path | str
    shared: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)

    def lose(self, md5: str) -> None:
        """Remove an object behind DVC's back."""
        name = f"files/md5/{md5[:2]}/{md5[2:]}"
        if isinstance(self.home, Path):
            # From a folder DVC itself removes what it found spoiled.
            (self.home / name).unlink(missing_ok=True)
        else:
            with s3(self.home) as client:
                client.delete_object(Bucket=BUCKET, Key=f"{STORE}/{name}")

    def spoil(self, md5: str) -> None:
        """Replace the bytes of an object behind DVC's back."""
        name = f"files/md5/{md5[:2]}/{md5[2:]}"
        if isinstance(self.home, Path):
            (self.home / name).chmod(0o644)
            (self.home / name).write_bytes(b"spoiled")
        else:
            with s3(self.home) as client:
                client.put_object(Bucket=BUCKET, Key=f"{STORE}/{name}", Body=b"spoiled")


@contextmanager
def s3(endpoint: str) -> Iterator[Any]:
    """A client of the endpoint; its keys come from the environment."""
    client = boto3.client("s3", endpoint_url=endpoint)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def folder_remote(folder: Path) -> Iterator[Remote]:
    """A folder that all can reach, such as a mounted disk."""
    yield Remote(str(folder / "store"), folder / "store")


@contextmanager
def ssh_remote(folder: Path) -> Iterator[Remote]:
    """OpenSSH's server on a port of its own, with keys of its own, for the user who runs this."""
    if not SSHD.exists():
        pytest.skip(f"{SSHD} is not installed (Debian's openssh-server)")
    if os.getuid() == 0:  # without it a server of root refuses to start
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    for name in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    (folder / "authorized_keys").write_bytes((folder / "user_key.pub").read_bytes())
    port = _free_port()
    settings = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "authorized_keys",
        "StrictModes": "no",  # the folders above this one belong to everyone
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "UsePAM": "no",
        "PidFile": "none",
        "Subsystem": "sftp internal-sftp",
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    store = folder / "store"
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{store}"
    with _serving([str(SSHD), "-D", "-e", "-f", str(config)], port, folder / "sshd.log"):
        yield Remote(url, store, own={"keyfile": str(folder / "user_key")})


@contextmanager
def s3_remote(folder: Path) -> Iterator[Remote]:
    """An S3 endpoint of moto's server, with one bucket."""
    port = _free_port()
    endpoint = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    with _serving(command, port, folder / "moto.log"):
        with s3(endpoint) as client:
            client.create_bucket(Bucket=BUCKET)
        yield Remote(f"s3://{BUCKET}/{STORE}", endpoint, shared={"endpointurl": endpoint})


REMOTES = {"folder": folder_remote, "ssh": ssh_remote, "s3": s3_remote}


@contextmanager
def _serving(command: list[str], port: int, log: Path) -> Iterator[None]:
    """Run a server until it is no longer needed; its output goes to a file."""
    with log.open("w") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait_for(server, port, log)
            yield
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for(server: subprocess.Popen, port: int, log: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        assert server.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

"""The desk's server: uvicorn on a port of this machine, until the custodian is done."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from penstock.desk.app import Desk, application
from penstock.desk.gate import HOST, Keys
from penstock.errors import UsageError


def serve(desk: Desk, *, port: int = 0, opened: Callable[[str], None]) -> None:
    """Serve until the page says that the review is done, or Ctrl-C; `opened` is told the address.

    The port is taken before anybody is told of it, so that nobody else can answer there.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        try:
            listening.bind((HOST, port))
        except OSError as problem:
            raise UsageError(
                f"Port {port} cannot be used ({problem.strerror}); choose another with --port."
            ) from None
        keys = Keys()
        taken = listening.getsockname()[1]
        server = uvicorn.Server(
            uvicorn.Config(
                application(desk, keys, taken),
                log_level="critical",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=2,
            )
        )
        listening.listen()
        opened(f"http://{HOST}:{taken}/?token={keys.token}")
        asyncio.run(_until_done(server, listening, desk))


async def _until_done(server: uvicorn.Server, listening: socket.socket, desk: Desk) -> None:
    async def watch() -> None:
        while not desk.finished.is_set():
            await asyncio.sleep(0.2)
        server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listening])
    finally:
        watching.cancel()

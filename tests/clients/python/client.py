"""An MCP client under remote control: the Python SDK, one JSON line per request and answer.

    client.py older|newer http URL
    client.py older|newer stdio COMMAND [ARGUMENT...]

Connects, prints `{"connected": ...}` and then does what the lines on standard input say:

    {"id": 1, "do": "list_tools"}
    {"id": 2, "do": "call_tool", "name": "...", "arguments": {}, "meta": {}, "progress": true}
    {"id": 3, "do": "list_resources"}
    {"id": 4, "do": "read_resource", "uri": "..."}
    {"do": "cancel", "id": 2}

Each answer is `{"id", "elapsed_ms", "progress"}` with one of `result` (as it came over the wire),
`failure` (`{code, message}`) or `cancelled`. Answers come when they are ready, in any order.
A question of the server is answered with the JSON in the environment variable `ANSWER`; without
it the client has nobody to ask.
The end of standard input ends the connection; the exit code is 1 where there never was one.
"""

import json
import os
import sys
import time
from contextlib import suppress
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult
from pydantic import BaseModel

MODES = {"older": "legacy", "newer": "auto"}


def say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def wire(value: BaseModel | None) -> Any:
    return value and value.model_dump(mode="json", by_alias=True, exclude_none=True)


def target(words: list[str]) -> str | StdioServerParameters:
    match words:
        case ["http", url]:
            return url
        case ["stdio", command, *arguments]:
            return StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    sys.exit(__doc__)


async def perform(client: Client, request: dict[str, Any], progress: list[Any]) -> BaseModel:
    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append({"progress": done, "total": total, "message": message})

    match request["do"]:
        case "list_tools":
            return await client.list_tools()
        case "list_resources":
            return await client.list_resources()
        case "read_resource":
            return await client.read_resource(request["uri"])
        case "call_tool":
            return await client.call_tool(
                request["name"],
                request.get("arguments"),
                meta=request.get("meta"),
                progress_callback=note if request.get("progress") else None,
            )
    raise ValueError(f"cannot do {request['do']!r}")


async def answer(client: Client, request: dict[str, Any], scopes: dict[int, anyio.CancelScope]) -> None:
    progress: list[Any] = []
    started = time.monotonic()
    line: dict[str, Any] = {"cancelled": True}
    with scopes[request["id"]]:
        try:
            line = {"result": wire(await perform(client, request, progress))}
        except MCPError as error:
            line = {"failure": {"code": error.code, "message": error.message}}
        except Exception as error:
            line = {"failure": {"code": None, "message": f"{type(error).__name__}: {error}"}}
    elapsed = (time.monotonic() - started) * 1000
    say({"id": request["id"], "elapsed_ms": elapsed, "progress": progress, **line})


async def obey(client: Client) -> None:
    scopes: dict[int, anyio.CancelScope] = {}
    async with anyio.create_task_group() as tasks:
        async for text in anyio.wrap_file(sys.stdin):
            request = json.loads(text)
            if request["do"] == "cancel":
                scopes[request["id"]].cancel()
                continue
            scopes[request["id"]] = anyio.CancelScope()
            tasks.start_soon(answer, client, request, scopes)


async def elicit(_context: Any, _params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=json.loads(os.environ["ANSWER"]))


async def main(era: str, words: list[str]) -> None:
    callback = elicit if "ANSWER" in os.environ else None
    async with Client(target(words), mode=MODES[era], elicitation_callback=callback) as client:
        connected = {
            "protocol_version": client.protocol_version,
            "server": wire(client.server_info),
            "capabilities": wire(client.server_capabilities),
            "instructions": client.instructions,
        }
        say({"connected": connected})
        await obey(client)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in MODES:
        sys.exit(__doc__)
    with suppress(KeyboardInterrupt):
        anyio.run(main, sys.argv[1], sys.argv[2:])

# SPDX-License-Identifier: Apache-2.0
"""The MCP clients from PyPI, unchanged: mcp with and without a session, and fastmcp, over HTTP and by
`holdfast mcp`. The environment says where the daemon is. The last class kills the worker."""

import asyncio
import os
import unittest
from contextlib import asynccontextmanager

import httpx2
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

URL = os.environ["MCP_URL"]
HANGS_S = 60
CALLS = 100
FLOOD = 50_000_000
MOST = 1 << 20


def headers(token=None):
    return {"Authorization": f"Bearer {token or os.environ['TOKEN']}"}


class Answer:
    """The result of a tool, whichever client it came from."""

    def __init__(self, result):
        self.failed = result.is_error
        self.data = result.structured_content
        self.text = result.content[0].text


@asynccontextmanager
async def of_mcp(mode, token=None):
    async with httpx2.AsyncClient(headers=headers(token), timeout=HANGS_S) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            yield client


def relay_env(token=None):
    asan = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
    return {**asan, "HOLDFAST_URL": URL.removesuffix("/mcp"), "HOLDFAST_TOKEN": token or os.environ["TOKEN"]}


@asynccontextmanager
async def by_stdio(mode, token=None):
    relay = StdioServerParameters(command=os.environ["HOLDFAST"], args=["mcp"], env=relay_env(token))
    async with Client(stdio_client(relay), mode=mode) as client:
        yield client


def of_fastmcp(token=None):
    return FastClient(StreamableHttpTransport(URL, headers=headers(token)))


class Calls:
    """What every client must be able to do; a class below says which client."""

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)  # unittest asks for it, and it is slow

    def connect(self, token=None):
        raise NotImplementedError

    async def raw(self, client, name, arguments):
        return Answer(await client.call_tool(name, arguments))

    async def tool(self, client, name, **arguments):
        answer = await self.raw(client, name, arguments)
        self.assertFalse(answer.failed, answer.text)
        return answer.data

    async def refused(self, client, code, name, **arguments):
        answer = await self.raw(client, name, arguments)
        self.assertTrue(answer.failed, answer.text)
        self.assertRegex(answer.text, f"^{code}: .{{8}}")

    async def names(self, client):
        return [t.name for t in (await client.list_tools()).tools]

    async def test_a_role_has_its_tools(self):
        async with self.connect() as client:
            names = await self.names(client)
            self.assertEqual((len(names), len(set(names))), (13, 13))
            self.assertLessEqual({"run_command", "wait_for", "run_in_session", "end_session"}, set(names))
        async with self.connect(os.environ["WATCH_TOKEN"]) as client:
            watching = await self.names(client)
            self.assertEqual(set(watching), {"list_processes", "read_output", "wait_for", "read_screen", "list_sessions"})
            with self.assertRaisesRegex(Exception, "run_command"):
                await self.raw(client, "run_command", {"command": "true"})

    async def test_a_command_has_its_output_and_its_exit_code(self):
        async with self.connect() as client:
            run = await self.tool(client, "run_command", command="cat; echo ü $X >&2; exit 3", input="in\n", env={"X": "y"})
            self.assertEqual((run["status"], run["exit_code"]), ("exited", 3))
            self.assertEqual(sorted(run["output"].splitlines()), ["in", "ü y"])

    async def test_a_prompt_is_waited_for(self):
        async with self.connect() as client:
            made = await self.tool(client, "start_process", command="bash", args=["--norc"], pty=True, shell_integration=True)
            which = {"process_id": made["process_id"]}
            first = await self.tool(client, "wait_for", prompt=True, timeout_ms=HANGS_S * 1000, **which)
            self.assertEqual(first["matched"], "prompt")
            sent = await self.tool(client, "send_input", text="echo $((6 * 7))\n", **which)
            done = await self.tool(client, "wait_for", prompt=True, timeout_ms=HANGS_S * 1000, **{**which, "from": sent["from"]})
            self.assertEqual(done["matched"], "prompt")
            self.assertIn("\x0742\r\n", done["output"])  # behind the mark of the command's start
            self.assertEqual((await self.tool(client, "stop", **which))["survivors"], [])

    async def test_a_session_keeps_its_shell(self):
        async with self.connect() as client:
            first = await self.tool(client, "run_in_session", command="cd /usr; V=kept; false")
            which = {"session_id": first["session_id"]}
            second = await self.tool(client, "run_in_session", command="pwd; echo $V", **which)
            self.assertEqual((first["exit_code"], second["output"], second["cwd"]), (1, "/usr\nkept\n", "/usr"))
            self.assertGreater(second["number"], first["number"])
            self.assertIn(first["session_id"], [s["id"] for s in (await self.tool(client, "list_sessions"))["sessions"]])
            await self.tool(client, "end_session", **which)

    async def test_errors_are_for_the_model_to_read(self):
        async with self.connect() as client:
            await self.refused(client, "no_such_process", "read_output", process_id="proc_none")
            await self.refused(client, "unknown_field", "run_command", command="true", nonsense=1)
            await self.refused(client, "bad_type", "wait_for", process_id="proc_none", timeout_ms="soon")
            with self.assertRaisesRegex(Exception, "no_such_tool"):
                await self.raw(client, "no_such_tool", {})
            self.assertEqual((await self.tool(client, "run_command", command="echo still here"))["output"], "still here\n")

    async def test_a_wrong_token_is_refused(self):
        with self.assertRaises(Exception) as caught:
            async with self.connect("wrong-wrong-wrong-wrong"):
                self.fail("it is connected")
        self.assertNotIsInstance(caught.exception, AssertionError)

    async def test_a_hundred_calls_at_once(self):
        async def one(client, i):
            run = await self.tool(client, "run_command", command=f"echo out{i}; exit {i % 7}")
            return run["output"], run["exit_code"]

        async with self.connect() as client:
            got = await asyncio.gather(*(one(client, i) for i in range(CALLS)))
        self.assertEqual(got, [(f"out{i}\n", i % 7) for i in range(CALLS)])


class WithSession(Calls, unittest.IsolatedAsyncioTestCase):
    """mcp by initialize and Mcp-Session-Id."""

    def connect(self, token=None):
        return of_mcp("legacy", token)

    async def test_the_revision(self):
        async with self.connect() as client:
            self.assertEqual((client.protocol_version, client.server_info.name), ("2025-11-25", "holdfast"))
            await client.send_ping()


class WithoutSession(Calls, unittest.IsolatedAsyncioTestCase):
    """mcp by server/discover: each request stands for itself."""

    def connect(self, token=None):
        return of_mcp("auto", token)

    async def test_the_revision(self):
        async with self.connect() as client:
            self.assertEqual(client.protocol_version, "2026-07-28")

    async def test_a_flood_is_bounded_by_its_two_ends(self):
        line = "0123456789abcde\n"
        async with self.connect() as client:
            run = await self.tool(client, "run_command", command=f"yes 0123456789abcde | head -c {FLOOD}; echo last", max_output_bytes=MOST)
        shown = len(run["output"]) + len(run["output_tail"])
        self.assertLessEqual(shown, MOST)
        self.assertEqual((run["exit_code"], run["next"]), (0, FLOOD + 5))
        self.assertEqual(shown + run["omitted_bytes"], FLOOD + 5)
        self.assertGreater(len(run["output_tail"]), 400_000)
        self.assertTrue(run["output_tail"].endswith(line + "last\n"))


class Fast(Calls, unittest.IsolatedAsyncioTestCase):
    """fastmcp, which raises what a tool reports."""

    def connect(self, token=None):
        return of_fastmcp(token)

    async def names(self, client):
        return [t.name for t in await client.list_tools()]

    async def raw(self, client, name, arguments):
        return Answer(await client.call_tool_mcp(name, arguments))

    async def test_an_error_of_a_tool_is_raised(self):
        async with self.connect() as client:
            with self.assertRaisesRegex(ToolError, "^no_such_process: "):
                await client.call_tool("stop", {"process_id": "proc_none"})
            run = await client.call_tool("run_command", {"command": "echo hi"})
            self.assertEqual(run.structured_content["output"], "hi\n")


class StdioWithSession(Calls, unittest.IsolatedAsyncioTestCase):
    """mcp by `holdfast mcp`."""

    def connect(self, token=None):
        return by_stdio("legacy", token)


class StdioWithoutSession(Calls, unittest.IsolatedAsyncioTestCase):
    def connect(self, token=None):
        return by_stdio("auto", token)

    async def test_the_revision(self):
        async with self.connect() as client:
            self.assertEqual(client.protocol_version, "2026-07-28")


class StdioFast(Calls, unittest.IsolatedAsyncioTestCase):
    def connect(self, token=None):
        return FastClient(StdioTransport(os.environ["HOLDFAST"], ["mcp"], env=relay_env(token), keep_alive=False))

    async def names(self, client):
        return [t.name for t in await client.list_tools()]

    async def raw(self, client, name, arguments):
        return Answer(await client.call_tool_mcp(name, arguments))


class ZWorkerKilled(unittest.IsolatedAsyncioTestCase):
    async def test_the_process_goes_on_and_a_new_client_finds_it(self):
        marker = os.path.join(os.environ["HOME"], "go")
        command = f"echo before; until [ -e {marker} ]; do sleep 0.05; done; echo after"
        which = {}

        async def under_way(*_):  # the first progress says that the call has arrived
            os.kill(int(os.environ["WORKER_PID"]), 9)

        with self.assertRaises((MCPError, ExceptionGroup)) as caught:
            async with of_mcp("auto") as client:
                which["process_id"] = Answer(await client.call_tool("start_process", {"command": command})).data["process_id"]
                seen = Answer(await client.call_tool("wait_for", {**which, "text": "before"})).data
                self.assertEqual(seen["matched"], "text")
                wait = {**which, "exit": True, "timeout_ms": HANGS_S * 1000}
                await client.call_tool("wait_for", wait, progress_callback=under_way)
        # The client closes its task groups with the error, so it comes in groups; nothing else may be in them.
        self.assertIsNone(ExceptionGroup("all", [caught.exception]).split((MCPError, httpx2.TransportError))[1])
        open(marker, "x").close()
        async with asyncio.timeout(HANGS_S):
            end = await self.of_the_next_worker(which)
        self.assertEqual((end["matched"], end["exit_code"]), ("exit", 0))
        async with of_fastmcp() as client:
            whole = Answer(await client.call_tool_mcp("read_output", which)).data
        self.assertEqual((whole["output"], whole["status"]), ("before\nafter\n", "exited"))

    async def of_the_next_worker(self, which):
        while True:
            try:
                async with of_mcp("auto") as client:
                    return Answer(await client.call_tool("wait_for", {**which, "exit": True, "timeout_ms": HANGS_S * 1000})).data
            except (MCPError, httpx2.HTTPError, ExceptionGroup):
                await asyncio.sleep(0.05)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The asynchronous E2B client from PyPI: the main calls, and many of them at once."""

import asyncio
import hashlib
import os
import signal
import unittest

from e2b import AsyncSandbox, CommandExitException, NotFoundException, PtySize, SandboxException

WORKER = int(os.environ["HF_WORKER_PID"])
QUIET_S = int(os.environ["HF_QUIET_S"])
OUTPUT_MB = 50


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.sandbox = await AsyncSandbox.create(validate_api_key=False)
        self.commands = self.sandbox.commands

    async def test_commands(self):
        result = await self.commands.run("echo $A; echo err >&2; pwd", envs={"A": "ü"}, cwd="/usr")
        self.assertEqual((result.stdout, result.stderr), ("ü\n/usr\n", "err\n"))
        with self.assertRaises(CommandExitException) as caught:
            await self.commands.run("exit 3")
        self.assertEqual(caught.exception.exit_code, 3)
        with self.assertRaises(NotFoundException):
            await self.commands.connect(4000000000)

    async def test_input_and_kill(self):
        handle = await self.commands.run("cat", background=True, stdin=True)
        await self.commands.send_stdin(handle.pid, "one\n")
        await self.commands.close_stdin(handle.pid)
        self.assertEqual((await handle.wait()).stdout, "one\n")
        sleeper = await self.commands.run("sleep 1000", background=True)
        self.assertTrue(await sleeper.kill())
        with self.assertRaises(CommandExitException):
            await sleeper.wait()

    async def test_a_terminal(self):
        seen = bytearray()

        async def on_data(data):
            seen.extend(data)

        handle = await self.sandbox.pty.create(PtySize(rows=30, cols=100), on_data=on_data)
        await self.sandbox.pty.resize(handle.pid, PtySize(rows=40, cols=120))
        await self.sandbox.pty.send_stdin(handle.pid, b"stty size; exit 4\n")
        with self.assertRaises(CommandExitException) as caught:
            await handle.wait()
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertIn(b"40 120", seen)

    async def test_files(self):
        folder = os.path.join(os.environ["HOME"], "async")
        data = os.urandom(1_000_000)
        await self.sandbox.files.write(f"{folder}/a", data, metadata={"by": "test"}, gzip=True)
        read = await self.sandbox.files.read(f"{folder}/a", format="bytes", gzip=True)
        self.assertEqual(bytes(read), data)
        (entry,) = await self.sandbox.files.list(folder)
        self.assertEqual((entry.name, entry.size, entry.metadata), ("a", len(data), {"by": "test"}))

    async def test_a_hundred_at_once(self):
        async def one(i):
            result = await self.commands.run(f"seq {i} {i + 999}; exit 0")
            self.assertEqual(result.stdout, "".join(f"{n}\n" for n in range(i, i + 1000)))

        await asyncio.gather(*(one(i) for i in range(100)))

    async def test_a_long_silence_beside_much_output(self):
        """The silent one lives by its keep-alives, and the others do not starve it."""
        quiet = asyncio.create_task(self.commands.run(f"sleep {QUIET_S}; echo late", timeout=0))
        digest = hashlib.md5()
        line = "x" * 1023 + "\n"
        result = await self.commands.run(
            f"yes {line.strip()} | head -n {OUTPUT_MB * 1024}",
            on_stdout=lambda text: digest.update(text.encode()),
            timeout=0,
        )
        self.assertEqual(len(result.stdout), OUTPUT_MB * 1024 * 1024)
        self.assertEqual(digest.hexdigest(), hashlib.md5(result.stdout.encode()).hexdigest())
        self.assertEqual((await quiet).stdout, "late\n")

    async def test_z_a_killed_worker_costs_a_reconnect(self):
        """The last one, because the other streams of this file would be cut as well."""
        handle = await self.commands.run("read line; echo got $line", background=True, stdin=True)
        os.kill(WORKER, signal.SIGKILL)
        with self.assertRaises(SandboxException):
            await handle.wait()

        async def retried(call):
            for _ in range(600):
                try:
                    return await call()
                except (SandboxException, OSError):
                    await asyncio.sleep(0.05)
            return await call()

        again = await retried(lambda: self.commands.connect(handle.pid))
        await self.commands.send_stdin(handle.pid, "it\n")
        self.assertEqual((await again.wait()).stdout, "got it\n")


if __name__ == "__main__":
    unittest.main()

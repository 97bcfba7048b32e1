# SPDX-License-Identifier: Apache-2.0
"""watch_dir of the E2B client from PyPI, unchanged. The environment says where the daemon is."""

import asyncio
import os
import time
import unittest

from e2b import (
    AsyncSandbox,
    FileNotFoundException,
    FileType,
    InvalidArgumentException,
    NotFoundException,
    Sandbox,
    SandboxException,
)

HANGS_S = 60


def folder(name):
    path = os.path.join(os.environ["HOME"], name)
    os.makedirs(path)
    return path


def texts(events):
    return [f"{e.type.value} {e.name}" for e in events]


class Polled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create(validate_api_key=False)

    def until(self, handle, last):
        events, end = [], time.monotonic() + HANGS_S
        while last not in texts(events):
            self.assertLess(time.monotonic(), end, f"no {last} in {texts(events)}")
            events += handle.get_new_events()
        return events

    def test_events_are_fetched_once(self):
        path = folder("py-polled")
        handle = self.sandbox.files.watch_dir(path)
        self.assertEqual(handle.get_new_events(), [])
        self.sandbox.files.write(f"{path}/a", "text")
        self.assertIn("create a", texts(self.until(handle, "write a")))
        self.sandbox.files.remove(f"{path}/a")
        self.assertEqual(texts(self.until(handle, "remove a"))[-1], "remove a")
        self.assertEqual(handle.get_new_events(), [])
        handle.stop()
        with self.assertRaises(SandboxException):
            handle.get_new_events()

    def test_recursive_with_entries(self):
        path = folder("py-recursive")
        handle = self.sandbox.files.watch_dir(path, recursive=True, include_entry=True)
        self.sandbox.files.write(f"{path}/deep/er/a", "text")
        events = self.until(handle, "create deep/er/a")
        entry = next(e.entry for e in events if e.name == "deep/er")
        self.assertEqual((entry.path, entry.type), (f"{path}/deep/er", FileType.DIR))
        handle.stop()

    def test_a_directory_that_is_removed(self):
        path = folder("py-removed")
        handle = self.sandbox.files.watch_dir(path)
        os.rmdir(path)
        self.until(handle, "remove .")
        self.assertEqual(handle.get_new_events(), [])
        handle.stop()

    def test_errors(self):
        path = folder("py-errors")
        with self.assertRaises(FileNotFoundException):
            self.sandbox.files.watch_dir(f"{path}/none")
        self.sandbox.files.write(f"{path}/file", "")
        with self.assertRaises(InvalidArgumentException):
            self.sandbox.files.watch_dir(f"{path}/file")
        handle = self.sandbox.files.watch_dir(path)
        handle.stop()
        handle._closed = False
        with self.assertRaises(NotFoundException):
            handle.get_new_events()


class Stream(unittest.IsolatedAsyncioTestCase):
    async def test_events_and_the_end(self):
        path = folder("py-stream")
        sandbox = await AsyncSandbox.create(validate_api_key=False)
        events, ended = asyncio.Queue(), asyncio.Event()

        async def until(last):
            seen = []
            while last not in texts(seen):
                seen.append(await asyncio.wait_for(events.get(), HANGS_S))
            return texts(seen)

        handle = await sandbox.files.watch_dir(path, events.put_nowait, on_exit=lambda e: ended.set(), recursive=True)
        os.makedirs(f"{path}/a/b")
        with open(f"{path}/a/b/c", "w") as f:
            f.write("x")
        self.assertEqual([t for t in await until("create a/b/c") if t.startswith("create")][:2], ["create a", "create a/b"])
        os.rename(f"{path}/a", f"{path}/z")
        self.assertEqual((await until("create z"))[-2:], ["rename a", "create z"])
        await handle.stop()
        await asyncio.wait_for(ended.wait(), HANGS_S)
        with self.assertRaises(FileNotFoundException):
            await sandbox.files.watch_dir(f"{path}/none", events.put_nowait)


if __name__ == "__main__":
    unittest.main()

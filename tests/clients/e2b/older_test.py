# SPDX-License-Identifier: Apache-2.0
"""The E2B client of before 2.0, unchanged. It knows only a domain and https, and so comes through a proxy."""

import asyncio
import os
import pwd
import unittest

from e2b import (
    AsyncSandbox,
    AuthenticationException,
    CommandExitException,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    Sandbox,
    SandboxException,
    TimeoutException,
)

PROXY = os.environ["PROXY"]
DAEMON_UID = os.getuid()  # started by the same user
HANGS_S = 60
LONG = "".join(f"{i}\n" for i in range(1, 200001))


class Sandboxes(unittest.TestCase):
    def test_create_connect_and_list_find_the_one_sandbox(self):
        made = Sandbox(metadata={"app": "older"}, envs={"MADE": "yes"}, proxy=PROXY)
        self.assertTrue(made.is_running())
        again = Sandbox.connect(made.sandbox_id, proxy=PROXY)
        self.assertEqual(again.commands.run("echo $MADE").stdout, "yes\n")
        listed = Sandbox.list(proxy=PROXY)
        self.assertEqual([(s.sandbox_id, s.metadata) for s in listed], [(made.sandbox_id, {"app": "older"})])
        self.assertEqual(made.get_info().sandbox_id, made.sandbox_id)
        made.set_timeout(600)

    def test_a_sandbox_after_kill_is_gone_until_the_next_one(self):
        made = Sandbox(proxy=PROXY)
        made.kill()
        self.assertFalse(made.is_running())
        self.assertEqual(Sandbox.list(proxy=PROXY), [])
        with self.assertRaises(SandboxException):
            made.commands.run("true")
        self.assertEqual(Sandbox(proxy=PROXY).commands.run("echo back").stdout, "back\n")

    def test_a_wrong_token(self):
        with self.assertRaisesRegex(SandboxException, "^401: "):
            Sandbox(api_key="wrong-wrong-wrong-wrong", proxy=PROXY)


class WithSandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox(proxy=PROXY)
        cls.commands = cls.sandbox.commands


class Commands(WithSandbox):
    def test_run_returns_both_streams_and_raises_for_a_failure(self):
        done = self.commands.run("echo $A; pwd; echo err >&2", envs={"A": "a b ü"}, cwd="/usr")
        self.assertEqual((done.stdout, done.stderr, done.exit_code), ("a b ü\n/usr\n", "err\n", 0))
        with self.assertRaises(CommandExitException) as caught:
            self.commands.run("echo last; exit 3")
        self.assertEqual((caught.exception.exit_code, caught.exception.stdout), (3, "last\n"))

    def test_no_output_is_lost_at_the_exit(self):
        self.assertEqual(self.commands.run("seq 200000").stdout, LONG)

    def test_input_connect_list_and_kill(self):
        handle = self.commands.run("read line; echo got $line; sleep 1000", background=True)
        self.assertIn(handle.pid, [p.pid for p in self.commands.list()])
        handle.disconnect()
        again = self.commands.connect(handle.pid)
        self.commands.send_stdin(handle.pid, "it\n")
        seen = next(out for out, _, _ in again if out)
        self.assertEqual(seen, "got it\n")
        self.assertTrue(self.commands.kill(handle.pid))
        with self.assertRaises(CommandExitException):
            again.wait()
        self.assertFalse(self.commands.kill(handle.pid))

    def test_calls_that_fail(self):
        with self.assertRaises(TimeoutException):
            self.commands.run("sleep 1000", timeout=1)
        with self.assertRaises(NotFoundException):
            self.commands.connect(4000000000)
        with self.assertRaises(InvalidArgumentException):
            self.commands.run("true", cwd="/not/there")

    def test_its_user_is_the_default_one_where_the_machine_has_no_such_user(self):
        """The client names "user" in every call. All of them failed on machines without that user."""
        there = {u.pw_name: u.pw_uid for u in pwd.getpwall()}
        self.assertEqual(self.commands.run("id -u").stdout, f"{there.get('user', DAEMON_UID)}\n")
        self.assertEqual(self.commands.run("id -un", user=pwd.getpwuid(DAEMON_UID).pw_name).stdout, f"{pwd.getpwuid(DAEMON_UID).pw_name}\n")
        with self.assertRaisesRegex(AuthenticationException, "invalid username: 'no-such-user'"):
            self.commands.run("true", user="no-such-user")

    def test_a_hundred_at_once_by_the_asynchronous_client(self):
        async def all_of_them():
            sandbox = await AsyncSandbox.connect(self.sandbox.sandbox_id, proxy=PROXY)
            done = await asyncio.gather(*(sandbox.commands.run(f"echo {i}") for i in range(100)))
            return [d.stdout for d in done]

        self.assertEqual(asyncio.run(asyncio.wait_for(all_of_them(), HANGS_S * 2)), [f"{i}\n" for i in range(100)])


class Terminals(WithSandbox):
    def test_size_input_and_exit(self):
        pty = self.sandbox.pty
        handle = pty.create(PtySize(rows=30, cols=100), timeout=HANGS_S)
        pty.resize(handle.pid, PtySize(rows=40, cols=120))
        pty.send_stdin(handle.pid, b"stty size; exit 4\n")
        seen = bytearray()
        with self.assertRaises(CommandExitException) as caught:
            handle.wait(on_pty=seen.extend)
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertIn(b"40 120", seen)


class Files(WithSandbox):
    def test_write_read_list_rename_and_remove(self):
        files, folder = self.sandbox.files, os.path.join(os.environ["HOME"], "older")
        data = bytes(range(256)) * 1000
        files.write(f"{folder}/a", data)
        self.assertEqual(bytes(files.read(f"{folder}/a", format="bytes")), data)
        files.rename(f"{folder}/a", f"{folder}/b")
        self.assertEqual([(e.name, e.size) for e in files.list(folder)], [("b", len(data))])
        files.remove(f"{folder}/b")
        self.assertFalse(files.exists(f"{folder}/b"))
        with self.assertRaises(NotFoundException):
            files.read(f"{folder}/b")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""sprites-py from PyPI, unchanged. The environment says where the daemon is. The last class kills the worker."""

import asyncio
import hashlib
import io
import os
import queue
import threading
import time
import unittest

from sprites import AsyncSpritesClient, AuthenticationError, ExecError, NetworkError, SpriteError, SpritesClient
from sprites.exec import run
from sprites.session import kill_session

HANGS_S = 60
COMMANDS = 100
FLOOD = 50_000_000


def client_of(token=None, **options):
    return SpritesClient(token or os.environ["TOKEN"], base_url=os.environ["BASE_URL"], timeout=HANGS_S, **options)


def until(condition, what):
    end = time.monotonic() + HANGS_S
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {HANGS_S} s")


class Typed:
    """Standard input that a test types into while the command runs."""

    def __init__(self):
        self.texts = queue.Queue()

    def read(self, _size):
        return self.texts.get(timeout=HANGS_S)


class Command(threading.Thread):
    """A command of the client in a thread of its own, which gathers what it says."""

    def __init__(self, command):
        super().__init__(daemon=True)
        self.command, self.error = command, None
        self.out = command.stdout = io.BytesIO()
        self.typed = command.stdin = Typed()
        self.start()

    def run(self):
        try:
            self.command.run()
        except SpriteError as err:
            self.error = err
        finally:
            self.type(b"")  # ends the client's read, for which the interpreter would wait

    def type(self, data):
        self.typed.texts.put(data)

    def sees(self, data):
        until(lambda: data in self.out.getvalue(), f"{data} among the output")

    def end(self):
        self.join(HANGS_S)
        if self.is_alive():
            raise AssertionError("the command does not end")
        return self.command.exit_code


class WithClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = client_of()
        cls.sprite = cls.client.sprite("box")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def session(self, command):
        """The session of the command with this text in its line."""
        return until(lambda: next((s for s in self.sprite.list_sessions() if command in s.command), None), f"{command} in the list")


class Commands(WithClient):
    def test_there_is_one_sprite_by_any_name(self):
        self.assertEqual(self.client.create_sprite("made").name, "made")
        self.assertEqual(self.client.get_sprite("mine").name, "mine")
        self.assertEqual([s.name for s in self.client.list_sprites().sprites], ["local"])

    def test_both_streams_and_the_exit_code(self):
        done = run(self.sprite, "sh", "-c", "echo out; echo err >&2; exit 7", capture_output=True, timeout=HANGS_S)
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"out\n", b"err\n", 7))
        self.assertEqual(self.sprite.command("printf", "%s|", "a b", "", "ü&=+%", cwd="/usr").output(), "a b||ü&=+%|".encode())
        self.assertEqual(self.sprite.command("sh", "-c", "pwd; echo $A", cwd="/usr", env={"A": "x=y z"}).output(), b"/usr\nx=y z\n")

    def test_a_failing_command_raises_with_its_exit_code(self):
        with self.assertRaises(ExecError) as caught:
            self.sprite.command("sh", "-c", "echo last; kill -9 $$").output()
        self.assertEqual((caught.exception.exit_code(), caught.exception.stdout), (137, b"last\n"))

    def test_input_of_any_size_and_its_end(self):
        data = b"0123456789abcde\n" * 200_000
        command = self.sprite.command("md5sum")
        command.stdin = io.BytesIO(data)
        self.assertEqual(command.output().split()[0].decode(), hashlib.md5(data).hexdigest())

    def test_control_mode_falls_back(self):
        with client_of(control_mode=True) as client:
            self.assertEqual(client.sprite("box").command("echo", "hi").output(), b"hi\n")

    def test_a_hundred_at_once_by_the_asynchronous_client(self):
        async def one(sprite, i):
            done = await sprite.run("sh", "-c", f"echo out{i}; echo err{i} >&2; exit {i % 5}", capture_output=True, timeout=HANGS_S)
            return done.stdout, done.stderr, done.returncode

        async def all_of_them():
            async with AsyncSpritesClient(os.environ["TOKEN"], base_url=os.environ["BASE_URL"]) as client:
                return await asyncio.gather(*(one(client.sprite("box"), i) for i in range(COMMANDS)))

        want = [(f"out{i}\n".encode(), f"err{i}\n".encode(), i % 5) for i in range(COMMANDS)]
        self.assertEqual(asyncio.run(all_of_them()), want)

    def test_fifty_megabytes_arrive_whole(self):
        line = b"0123456789abcde\n"
        got = self.sprite.command("sh", "-c", f"yes 0123456789abcde | head -c {FLOOD}").output()
        self.assertTrue(got == line * (FLOOD // len(line)), f"{len(got)} bytes")


class Sessions(WithClient):
    def test_a_terminal_has_its_size_and_its_input(self):
        t = Command(self.sprite.command("sh", "-c", "stty size; read line; echo got $line; exit 4", tty=True, tty_rows=31, tty_cols=97))
        t.sees(b"31 97\r\n")
        t.type(b"it\n")
        self.assertEqual(t.end(), 4)
        self.assertIn(b"got it\r\n", t.out.getvalue())

    def test_attach_has_what_was_before(self):
        first = Command(self.sprite.command("sh", "-c", "echo first; read line; echo got $line; exit 5; : attached-to", tty=True))
        first.sees(b"first\r\n")
        session = self.session("attached-to")
        self.assertTrue(session.tty)
        second = Command(self.sprite.attach_session(session.id))
        second.sees(b"first\r\n")
        second.type(b"both\n")
        self.assertEqual((first.end(), second.end()), (5, 5))
        for c in (first, second):
            self.assertTrue(c.out.getvalue().endswith(b"got both\r\n"), c.out.getvalue())

    def test_kill_ends_the_whole_tree(self):
        c = Command(self.sprite.command("sh", "-c", "sleep 1003 & echo $!; wait"))
        c.sees(b"\n")
        said = [m.type for m in kill_session(self.sprite, self.session("sleep 1003").id)]
        self.assertEqual(said[-1], "complete")
        self.assertEqual(c.end(), 143)
        child = c.out.getvalue().strip().decode()
        until(lambda: not os.path.exists(f"/proc/{child}"), "the end of the child")


class Errors(WithClient):
    def test_what_is_not_there_is_told_as_a_shell_tells_it(self):
        for argv, code, said in ((("no-such-program-here",), 127, b"no-such-program-here"), (("/",), 126, b"/")):
            done = run(self.sprite, *argv, capture_output=True)
            self.assertEqual(done.returncode, code)
            self.assertIn(said, done.stderr)

    def test_tokens_and_roles(self):
        with client_of("wrong-wrong-wrong-wrong") as wrong:
            with self.assertRaises(AuthenticationError):
                wrong.get_sprite("box")
            with self.assertRaisesRegex(SpriteError, "401|[Uu]nauthori|token"):
                wrong.sprite("box").command("true").run()
        with client_of(os.environ["WATCH_TOKEN"]) as watching:
            self.assertEqual(watching.get_sprite("box").name, "box")
            with self.assertRaisesRegex(SpriteError, "403|role|forbidden"):
                watching.sprite("box").command("true").run()

    def test_an_unknown_session(self):
        with self.assertRaises(SpriteError):
            self.sprite.attach_session("proc_none").run()
        with self.assertRaisesRegex(SpriteError, "404"):
            kill_session(self.sprite, "proc_none")

    def test_what_one_place_cannot_do_is_refused(self):
        for call in (self.sprite.list_checkpoints, self.sprite.list_services, self.sprite.delete):
            with self.assertRaises(SpriteError):
                call()
        self.assertEqual(self.sprite.command("echo", "here").output(), b"here\n")


class ZWorkerKilled(WithClient):
    def test_a_command_that_is_cut_has_no_invented_exit_and_goes_on(self):
        marker = os.path.join(os.environ["HOME"], "go")
        c = Command(self.sprite.command("sh", "-c", f"echo before; until [ -e {marker} ]; do sleep 0.05; done; echo after; exit 6", tty=True))
        c.sees(b"before\r\n")
        session = self.session(marker)
        os.kill(int(os.environ["WORKER_PID"]), 9)
        c.end()
        self.assertIsInstance(c.error, NetworkError)
        again = Command(until(lambda: self.again(session.id), "the next worker"))
        again.sees(b"before\r\n")
        open(marker, "x").close()
        self.assertEqual(again.end(), 6)
        self.assertTrue(again.out.getvalue().endswith(b"before\r\nafter\r\n"), again.out.getvalue())

    def again(self, session):
        try:
            return self.sprite.attach_session(session) if self.sprite.list_sessions() else None
        except SpriteError:
            return None


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""sprites-py from PyPI, unchanged. The environment says where the daemon is. The last class kills the worker."""

import asyncio
import hashlib
import io
import os
import queue
import tempfile
import threading
import time
import unittest

from sprites import AsyncSpritesClient, AuthenticationError, ExecError, NetworkError, SpriteError, SpritesClient
from sprites.exceptions import (
    DirectoryNotEmptyError,
    FileNotFoundError_,
    FilesystemError,
    IsADirectoryError_,
    NotADirectoryError_,
    PermissionError_,
)
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
        for call in (self.sprite.list_checkpoints, self.sprite.list_services, self.sprite.upgrade):
            with self.assertRaisesRegex(SpriteError, "501|cannot save|no services|holdfast upgrade"):
                call()
        self.sprite.delete()
        self.assertEqual(self.sprite.command("echo", "here").output(), b"here\n")


class Files(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ["HOME"])
        self.fs = client_of().sprite("box").filesystem(self.dir)

    def test_written_files_come_back(self):
        path = self.fs / "a" / "b.txt"
        path.write_text("one ü", mode=0o640)
        self.assertEqual(path.read_text(), "one ü")
        self.assertEqual(os.stat(f"{self.dir}/a/b.txt").st_mode & 0o777, 0o640)
        data = os.urandom(3_000_000)
        path.write_bytes(data)
        self.assertEqual(path.read_bytes(), data)
        (self.fs / "empty").touch()
        self.assertEqual((self.fs / "empty").read_bytes(), b"")
        (self.fs / "empty").touch()
        with self.assertRaises(FileNotFoundError_):
            (self.fs / "no" / "parent").write_bytes(b"", mkdir_parents=False)

    def test_descriptions_and_lists(self):
        (self.fs / "l" / "b").write_text("12345", mode=0o600)
        (self.fs / "l" / "a" / "c").write_text("")
        st = (self.fs / "l" / "b").stat()
        self.assertEqual((st.name, st.path, st.size, st.mode, st.is_dir), ("b", f"{self.dir}/l/b", 5, "0600", False))
        self.assertLess(abs(st.mod_time.timestamp() - time.time()), 3600)
        self.assertEqual((self.fs / "l").listdir(), ["a", "b"])
        self.assertTrue((self.fs / "l" / "b").is_file())
        self.assertTrue((self.fs / "l" / "b").exists())
        self.assertFalse((self.fs / "gone").exists())

    def test_directories(self):
        (self.fs / "one").mkdir()
        self.assertEqual(os.listdir(f"{self.dir}/one"), [])
        with self.assertRaises(FileNotFoundError_):
            (self.fs / "x" / "y").mkdir()
        (self.fs / "x" / "y").mkdir(parents=True)
        with self.assertRaises(DirectoryNotEmptyError):
            (self.fs / "x").rmdir()
        (self.fs / "x" / "y").rmdir()
        (self.fs / "x" / "z").write_text("")
        (self.fs / "x").rmtree()
        self.assertEqual(os.listdir(self.dir), ["one"])

    def test_rename_copy_chmod_unlink(self):
        path = self.fs / "a"
        path.write_text("text")
        path = path.rename("b")
        (self.fs / "c").write_text("old")
        path = path.replace(self.fs / "c")
        self.assertEqual(path.read_text(), "text")
        path.copy_to("d")
        self.assertEqual((self.fs / "d").read_text(), "text")
        path.chmod(0o600)
        self.assertEqual(os.stat(f"{self.dir}/c").st_mode & 0o777, 0o600)
        path.unlink()
        path.unlink(missing_ok=True)
        self.assertEqual(os.listdir(self.dir), ["d"])

    def test_errors(self):
        (self.fs / "f").write_text("")
        for error, call in (
            (FileNotFoundError_, lambda: (self.fs / "gone").read_bytes()),
            (FileNotFoundError_, lambda: (self.fs / "gone").unlink()),
            (IsADirectoryError_, lambda: self.fs.cwd.read_bytes()),
            (NotADirectoryError_, lambda: (self.fs / "f" / "x").read_bytes()),
            (FilesystemError, lambda: (self.fs / "gone").chmod(0o600)),
        ):
            with self.assertRaises(error):
                call()
        watcher = client_of(os.environ["WATCH_TOKEN"]).sprite("box").filesystem(self.dir)
        with self.assertRaises(PermissionError_):
            (watcher / "f").read_bytes()

    def test_async(self):
        async def run_all():
            async with AsyncSpritesClient(os.environ["TOKEN"], base_url=os.environ["BASE_URL"]) as client:
                fs = client.sprite("box").filesystem(self.dir)
                await (fs / "x" / "y").write_text("async")
                self.assertEqual(await (fs / "x" / "y").read_text(), "async")
                self.assertTrue(await (fs / "x" / "y").is_file())
                with self.assertRaises(FileNotFoundError_):
                    await (fs / "gone").read_bytes()

        asyncio.run(run_all())


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

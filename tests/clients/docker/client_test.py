# SPDX-License-Identifier: Apache-2.0
"""Docker's client from PyPI, unchanged. The environment says where the daemon is."""

import io
import os
import tarfile
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import docker

LONG = "".join(f"{i}\n" for i in range(1, 200001)).encode()


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = docker.DockerClient(base_url=os.environ["DOCKER_HOST"])
        cls.sandbox = cls.client.containers.get("sandbox")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def test_two_hundred_execs_at_once_lose_no_output(self):
        def one(i):
            r = self.sandbox.exec_run(["sh", "-c", f"echo out{i}; echo err{i} >&2; exit {i % 5}"], demux=True)
            return r.exit_code, r.output

        with ThreadPoolExecutor(16) as pool:
            got = list(pool.map(one, range(200)))
        self.assertEqual(got, [(i % 5, (f"out{i}\n".encode(), f"err{i}\n".encode())) for i in range(200)])

    def test_a_long_output_arrives_whole(self):
        self.assertEqual(self.sandbox.exec_run(["seq", "200000"]).output, LONG)

    def test_stats_have_the_figures_of_the_process(self):
        c = self.client.containers.run("any", ["sh", "-c", "while :; do :; done"], detach=True)
        try:
            s = c.stats(stream=False)
            used = [s[k]["cpu_usage"]["total_usage"] for k in ("precpu_stats", "cpu_stats")]
            self.assertLess(used[0], used[1])
            self.assertEqual(s["pids_stats"]["current"], 1)
            self.assertGreater(s["memory_stats"]["limit"], s["memory_stats"]["usage"])
            first = next(c.stats(decode=True))
            self.assertEqual(first["id"], s["id"])
        finally:
            c.remove(force=True)

    def test_a_container_has_an_image(self):
        c = self.client.containers.run("team/app:2", ["sleep", "975"], detach=True)
        try:
            self.assertEqual(c.image.tags, ["team/app:2"])
            self.assertEqual(self.client.images.get("team/app:2").id, c.image.id)
            self.assertEqual(self.client.images.pull("team/other", tag="3").tags, ["team/other:3"])
            with self.assertRaises(docker.errors.ImageNotFound):
                self.client.images.get("unused")
            self.assertIn(c.image.id, [i.id for i in self.client.images.list()])
            self.assertEqual([i.tags for i in self.client.images.list(name="team/app")], [["team/app:2"]])
        finally:
            c.remove(force=True)

    def test_events_and_a_restart(self):
        c = self.client.containers.run("any", ["sleep", "976"], detach=True, name="restarted")
        events = self.client.events(decode=True, since=1, filters={"container": "restarted"})
        try:
            self.assertEqual(next(events)["Action"], "start")
            c.restart(timeout=1)
            c.reload()
            self.assertEqual(c.status, "running")
            self.assertEqual([next(events)["Action"] for _ in range(3)], ["die", "destroy", "start"])
        finally:
            events.close()
            c.remove(force=True)

    def test_a_terminal_begins_with_its_own_output(self):
        self.assertEqual(self.sandbox.exec_run(["echo", "hi"], tty=True, stdin=True).output, b"hi\r\n")

    def test_attach_with_logs_has_the_first_bytes(self):
        c = self.client.containers.create("any", ["seq", "5"])
        c.start()
        self.assertEqual(c.wait()["StatusCode"], 0)
        self.assertEqual(c.attach(logs=True), b"1\n2\n3\n4\n5\n")
        self.assertEqual(c.logs(), b"1\n2\n3\n4\n5\n")
        c.remove()

    def test_put_archive_and_get_archive(self):
        with tempfile.TemporaryDirectory() as box:
            data = io.BytesIO()
            with tarfile.open(fileobj=data, mode="w") as tar:
                info = tarfile.TarInfo("dir/file")
                info.size, info.mode, info.uid, info.gid = 4, 0o640, os.getuid(), 3000000
                tar.addfile(info, io.BytesIO(b"text"))
            self.assertTrue(self.sandbox.put_archive(box, data.getvalue()))
            if os.getuid() == 0:
                self.assertEqual(os.stat(f"{box}/dir/file").st_gid, 3000000)
            chunks, stat = self.sandbox.get_archive(f"{box}/dir")
            self.assertEqual((stat["name"], stat["mode"] >> 31), ("dir", 1))
            with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
                self.assertEqual(tar.getnames(), ["dir", "dir/file"])
                self.assertEqual(tar.extractfile("dir/file").read(), b"text")
            with self.assertRaises(docker.errors.NotFound):
                self.sandbox.get_archive(f"{box}/none")

    def test_run_returns_the_output_and_raises_on_a_failure(self):
        self.assertEqual(self.client.containers.run("any", ["echo", "hi"], remove=True), b"hi\n")
        with self.assertRaises(docker.errors.ContainerError) as caught:
            self.client.containers.run("any", ["sh", "-c", "echo bad >&2; exit 3"], remove=True)
        self.assertEqual((caught.exception.exit_status, caught.exception.stderr), (3, b"bad\n"))


if __name__ == "__main__":
    unittest.main()

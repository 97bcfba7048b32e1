# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes client for 1.29, unchanged, as tools pin it: the first channel protocol, models of then."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

import kubernetes
from kubernetes.stream import stream

POD, NAMESPACE = "sandbox", "default"
HANGS_S = 60
LONG = "".join(f"{i}\n" for i in range(1, 200001))
BOTH = {"stderr": True, "stdin": False, "stdout": True, "tty": False}


def core(token=None):
    return kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config_dict({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": os.environ["KUBE_SERVER"]}}],
        "users": [{"name": "u", "user": {"token": token or os.environ["KUBE_TOKEN"]}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
    }))


def execute(client, command, pod=POD, **options):
    return stream(client.connect_get_namespaced_pod_exec, pod, NAMESPACE, command=command, **{**BOTH, **options})


def opened(command, **options):
    return execute(core(), command, _preload_content=False, **{"stdin": True, **options})


class Pods(unittest.TestCase):
    def test_the_pod_is_listed_and_read(self):
        self.assertEqual([p.metadata.name for p in core().list_namespaced_pod(NAMESPACE).items], [POD])
        self.assertEqual(core().read_namespaced_pod(POD, NAMESPACE).status.phase, "Running")

    def test_errors(self):
        def caught(call):
            with self.assertRaises(kubernetes.client.ApiException) as raised:
                call()
            return raised.exception

        wrong, watch = core("wrong-wrong-wrong-wrong"), core(os.environ["KUBE_WATCH_TOKEN"])
        self.assertEqual(caught(lambda: core().read_namespaced_pod("other", NAMESPACE)).status, 404)
        self.assertEqual(caught(lambda: wrong.list_namespaced_pod(NAMESPACE)).status, 401)
        # The client reports a refused handshake with the status 0; the daemon's status is in the reason.
        for expected, call in (
            (404, lambda: execute(core(), ["true"], pod="other")),
            (401, lambda: execute(wrong, ["true"])),
            (403, lambda: execute(watch, ["true"])),
        ):
            error = caught(call)
            self.assertEqual(error.status, 0)
            self.assertRegex(error.reason, f"^Handshake status {expected} ")


class Exec(unittest.TestCase):
    def test_exec_returns_all_output(self):
        self.assertEqual(execute(core(), ["sh", "-c", "echo out"]), "out\n")
        self.assertEqual(execute(core(), ["seq", "200000"]), LONG)

    def test_streams_come_apart_with_the_exit_code(self):
        c = opened(["sh", "-c", "echo out; echo err >&2; exit 3"])
        c.run_forever(timeout=HANGS_S)
        self.assertEqual((c.read_stdout(), c.read_stderr(), c.returncode), ("out\n", "err\n", 3))

    def test_a_program_that_does_not_exist(self):
        c = opened(["no-such-program-here"])
        c.run_forever(timeout=HANGS_S)
        self.assertIn("no-such-program-here", c.read_channel(3))

    def test_input_and_a_terminal(self):
        c = opened(["sh", "-c", "read a; echo got $a"])
        c.write_stdin("one ü\n")
        c.run_forever(timeout=HANGS_S)
        self.assertEqual((c.read_stdout(), c.returncode), ("got one ü\n", 0))
        t = opened(["sh"], tty=True)
        t.write_channel(4, '{"Width":99,"Height":33}')
        t.write_stdin("stty size; exit 4\n")
        t.run_forever(timeout=HANGS_S)
        self.assertIn("33 99", t.read_stdout())
        self.assertEqual(t.returncode, 4)

    def test_a_hundred_at_once(self):
        """A client of its own for each: stream() replaces a method of the client while it runs."""
        with ThreadPoolExecutor(100) as pool:
            done = list(pool.map(lambda i: execute(core(), ["echo", f"n{i}"]), range(100)))
        self.assertEqual(done, [f"n{i}\n" for i in range(100)])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""grpcio with TLS: its core insists on ALPN, which other clients do not."""

import os
import unittest

import grpc

import client_test


class Secure(unittest.TestCase):
    def test_a_terminal_by_tls(self):
        with open(os.environ["CA"], "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        with grpc.secure_channel(client_test.TARGET, credentials) as channel:
            stub = client_test.Stub(channel)
            made = stub.Open(shell="sh", shell_args=["-c", "echo by TLS; exit 3"])
            listener = client_test.Listener(stub.Listen(alias=made.terminal.alias))
            self.assertEqual(listener.end(), (3, grpc.StatusCode.OK))
            self.assertEqual(bytes(listener.data), b"by TLS\r\n")


if __name__ == "__main__":
    unittest.main()

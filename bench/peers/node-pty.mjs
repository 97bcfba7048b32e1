// SPDX-License-Identifier: Apache-2.0
//
// node-pty.mjs - the server most web terminals are: node-pty behind ws
//
// Prints its port, and runs the command it is given once for each client.
// Both are set up as their own documentation has it for speed: bytes instead
// of strings (encoding null), no compression, binary frames.
import { spawn } from "node-pty";
import { WebSocketServer } from "ws";

const [command, ...args] = process.argv.slice(2);
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });

// Without a limit a slow client would make node hold the whole flood.
const HIGH_WATER_BYTES = 1 << 20;
const LOW_WATER_BYTES = 1 << 18;

server.on("connection", (socket, request) => {
  const terminal = spawn(command, args, { cols: 80, rows: 24, encoding: null });
  let paused = false;

  request.socket.setNoDelay(true);
  terminal.onData((bytes) => {
    socket.send(bytes, () => {
      if (paused && socket.bufferedAmount < LOW_WATER_BYTES) {
        paused = false;
        terminal.resume();
      }
    });
    if (!paused && socket.bufferedAmount > HIGH_WATER_BYTES) {
      paused = true;
      terminal.pause();
    }
  });
  terminal.onExit(() => socket.close());
  socket.on("message", (bytes) => terminal.write(bytes));
  socket.on("close", () => terminal.kill());
});

server.on("listening", () => console.log(server.address().port));

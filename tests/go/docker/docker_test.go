// SPDX-License-Identifier: Apache-2.0

// Package docker drives a daemon by Docker's own client library. DOCKER_HOST and
// HOLDFAST_TOKEN say where the daemon is.
package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
)

const hangs = 2 * time.Minute

func dial(t *testing.T) (*client.Client, context.Context) {
	t.Helper()
	headers := map[string]string{"Authorization": "Bearer " + os.Getenv("HOLDFAST_TOKEN")}
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation(), client.WithHTTPHeaders(headers))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	t.Cleanup(func() { cancel(); c.Close() })
	return c, ctx
}

// execute runs a command in the sandbox and returns its streams and its exit code.
func execute(t *testing.T, input []byte, argv ...string) (string, string, int) {
	t.Helper()
	c, ctx := dial(t)
	options := container.ExecOptions{Cmd: argv, AttachStdin: input != nil, AttachStdout: true, AttachStderr: true}
	made, err := c.ContainerExecCreate(ctx, "sandbox", options)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		conn.Conn.Write(input)
		conn.CloseWrite()
	}()
	var stdout, stderr bytes.Buffer
	if _, err := stdcopy.StdCopy(&stdout, &stderr, conn.Reader); err != nil {
		t.Fatal(err)
	}
	seen, err := c.ContainerExecInspect(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if seen.Running {
		t.Error("the exec still runs after its streams have ended")
	}
	return stdout.String(), stderr.String(), seen.ExitCode
}

func TestBothStreamsAndTheExitCode(t *testing.T) {
	stdout, stderr, code := execute(t, nil, "sh", "-c", "echo o; echo e >&2; exit 7")
	if stdout != "o\n" || stderr != "e\n" || code != 7 {
		t.Errorf("%q %q %d", stdout, stderr, code)
	}
}

func TestBytesComeBackUnchanged(t *testing.T) {
	input := make([]byte, 3<<20)
	rand.Read(input)
	stdout, _, code := execute(t, input, "cat")
	if stdout != string(input) || code != 0 {
		t.Errorf("%d of %d bytes, exit code %d", len(stdout), len(input), code)
	}
}

func TestNoOutputIsLostAtTheExit(t *testing.T) {
	for i := 0; i < 20; i++ {
		stdout, _, _ := execute(t, nil, "seq", "5000")
		if lines := strings.Count(stdout, "\n"); lines != 5000 {
			t.Fatalf("run %d: %d lines of 5000", i, lines)
		}
	}
}

func TestATerminalHasItsSizeAndOneStream(t *testing.T) {
	c, ctx := dial(t)
	size := [2]uint{31, 97}
	made, err := c.ContainerExecCreate(ctx, "sandbox", container.ExecOptions{
		Cmd: []string{"sh", "-c", "stty size; exit 3"}, Tty: true, AttachStdout: true, ConsoleSize: &size})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: true, ConsoleSize: &size})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	all, err := io.ReadAll(conn.Reader)
	if err != nil || !strings.Contains(string(all), "31 97\r\n") {
		t.Errorf("%q, %v", all, err)
	}
	if seen, err := c.ContainerExecInspect(ctx, made.ID); err != nil || seen.ExitCode != 3 {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestContainersAreListed(t *testing.T) {
	c, ctx := dial(t)
	list, err := c.ContainerList(ctx, container.ListOptions{})
	if err != nil || len(list) == 0 {
		t.Errorf("%v, %v", list, err)
	}
}

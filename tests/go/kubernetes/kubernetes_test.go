// SPDX-License-Identifier: Apache-2.0

// Package kubernetes drives a daemon by client-go's remotecommand, with each of its two executors.
// KUBE_SERVER, KUBE_TOKEN and KUBE_WATCH_TOKEN say where the daemon is.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

const (
	hangs  = 2 * time.Minute
	atOnce = 100
	flood  = 50000000
	line   = "0123456789abcde\n"
)

type making func(config *rest.Config, where *url.URL) (remotecommand.Executor, error)

var executors = map[string]making{
	"SPDY": func(config *rest.Config, where *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(config, "POST", where)
	},
	"WebSocket": func(config *rest.Config, where *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(config, "GET", where.String())
	},
}

// withEach runs body with each executor, all at the same time.
func withEach(t *testing.T, body func(t *testing.T, make making)) {
	t.Parallel()
	for name, create := range executors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body(t, create)
		})
	}
}

// sizes is a TerminalSizeQueue that a test fills and closes.
type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	size, more := <-s
	if !more {
		return nil
	}
	return &size
}

// watched is a writer whose content a test can wait for.
type watched struct {
	mutex sync.Mutex
	all   bytes.Buffer
	more  chan struct{}
}

func newWatched() *watched {
	return &watched{more: make(chan struct{}, 1)}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.all.Write(p)
}

func (w *watched) String() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.all.String()
}

func (w *watched) sees(t *testing.T, text string) {
	t.Helper()
	for end := time.After(hangs); !strings.Contains(w.String(), text); {
		select {
		case <-w.more:
		case <-end:
			t.Errorf("%q is not among %q", text, w.String())
			return
		}
	}
}

type command struct {
	pod, container, token string
	argv                  []string
	options               remotecommand.StreamOptions
}

// stream runs a command to its end.
func (c command) stream(create making) error {
	or := func(value, fallback string) string {
		if value == "" {
			return fallback
		}
		return value
	}
	where, err := url.Parse(os.Getenv("KUBE_SERVER"))
	if err != nil {
		return err
	}
	where = where.JoinPath("api/v1/namespaces/default/pods", or(c.pod, "sandbox"), "exec")
	is := func(yes bool) []string { return []string{fmt.Sprint(yes)} }
	where.RawQuery = url.Values{
		"command": c.argv, "container": {or(c.container, "main")}, "tty": is(c.options.Tty),
		"stdin": is(c.options.Stdin != nil), "stdout": is(c.options.Stdout != nil), "stderr": is(c.options.Stderr != nil),
	}.Encode()
	config := &rest.Config{Host: where.Host, BearerToken: or(c.token, os.Getenv("KUBE_TOKEN"))}
	executor, err := create(config, where)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	return executor.StreamWithContext(ctx, c.options)
}

func codeOf(err error) int {
	var exit exec.CodeExitError
	if err == nil {
		return 0
	} else if errors.As(err, &exit) {
		return exit.Code
	}
	return -1
}

// run returns the streams and the result of a command without a terminal.
func run(create making, input io.Reader, argv ...string) (string, string, error) {
	var stdout, stderr bytes.Buffer
	err := command{argv: argv, options: remotecommand.StreamOptions{Stdin: input, Stdout: &stdout, Stderr: &stderr}}.stream(create)
	return stdout.String(), stderr.String(), err
}

func TestBothStreamsAndTheExitCode(t *testing.T) {
	withEach(t, func(t *testing.T, create making) {
		stdout, stderr, err := run(create, nil, "sh", "-c", "echo o; echo e >&2; exit 7")
		if stdout != "o\n" || stderr != "e\n" || codeOf(err) != 7 {
			t.Errorf("%q %q %v", stdout, stderr, err)
		}
	})
}

func TestInputComesBackUnchangedAndEnds(t *testing.T) {
	withEach(t, func(t *testing.T, create making) {
		input := make([]byte, 3<<20)
		rand.Read(input)
		stdout, _, err := run(create, bytes.NewReader(input), "cat")
		if stdout != string(input) || err != nil {
			t.Errorf("%d of %d bytes, %v", len(stdout), len(input), err)
		}
	})
}

func TestATerminalIsResizedAndTypedInto(t *testing.T) {
	withEach(t, func(t *testing.T, create making) {
		queue := make(sizes, 1)
		defer close(queue)
		queue <- remotecommand.TerminalSize{Width: 97, Height: 31}
		input, typed := io.Pipe()
		defer typed.Close()
		out := newWatched()
		script := `stty size; while [ "$(stty size)" = "31 97" ]; do sleep 0.05; done; stty size; read line; echo got $line; exit 3`
		ended := make(chan error, 1)
		go func() {
			options := remotecommand.StreamOptions{Stdin: input, Stdout: out, Tty: true, TerminalSizeQueue: queue}
			ended <- command{argv: []string{"bash", "-c", script}, options: options}.stream(create)
		}()
		out.sees(t, "31 97\r\n")
		queue <- remotecommand.TerminalSize{Width: 120, Height: 40}
		out.sees(t, "40 120\r\n")
		typed.Write([]byte("it\n"))
		out.sees(t, "got it\r\n")
		if err := <-ended; codeOf(err) != 3 {
			t.Errorf("%v, %q", err, out)
		}
	})
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, says string
		command
	}{
		{"a missing program", "no-such-program-here", command{argv: []string{"no-such-program-here"}}},
		{"an unknown pod", "not found", command{pod: "other", argv: []string{"true"}}},
		{"an unknown container", "no-such-container", command{container: "no-such-container", argv: []string{"true"}}},
		{"a wrong token", "", command{token: "wrong-wrong-wrong-wrong", argv: []string{"true"}}},
		{"a weak role", "", command{token: os.Getenv("KUBE_WATCH_TOKEN"), argv: []string{"true"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			withEach(t, func(t *testing.T, create making) {
				var stdout bytes.Buffer
				c.command.options.Stdout = &stdout
				err := c.command.stream(create)
				if err == nil || !strings.Contains(err.Error(), c.says) || stdout.Len() > 0 {
					t.Errorf("%v, %q", err, &stdout)
				} else {
					t.Log(err)
				}
			})
		})
	}
}

func TestAHundredAtOnce(t *testing.T) {
	withEach(t, func(t *testing.T, create making) {
		var all sync.WaitGroup
		for i := range atOnce {
			all.Go(func() {
				stdout, stderr, err := run(create, nil, "sh", "-c", fmt.Sprintf("echo out%d; echo err%d >&2; exit %d", i, i, i%5))
				if stdout != fmt.Sprintf("out%d\n", i) || stderr != fmt.Sprintf("err%d\n", i) || codeOf(err) != i%5 {
					t.Errorf("%d: %q %q %v", i, stdout, stderr, err)
				}
			})
		}
		all.Wait()
	})
}

func TestFiftyMegabytesArriveWhole(t *testing.T) {
	withEach(t, func(t *testing.T, create making) {
		stdout, _, err := run(create, nil, "sh", "-c", fmt.Sprintf("yes 0123456789abcde | head -c %d", flood))
		if err != nil || stdout != strings.Repeat(line, flood/len(line)) {
			t.Errorf("%d of %d bytes, %v", len(stdout), flood, err)
		}
	})
}

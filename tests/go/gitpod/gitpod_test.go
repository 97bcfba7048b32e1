// SPDX-License-Identifier: Apache-2.0

// Package gitpod drives a daemon by grpc-go, with the messages that Gitpod's own package describes.
// TARGET, TOKEN, WATCH_TOKEN and WORKER_PID say where the daemon is, DESCRIPTORS is a FileDescriptorSet.
package gitpod

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	hangs     = 2 * time.Minute
	terminals = 100
	flood     = 50000000
	line      = "0123456789abcde\n"
	name      = "supervisor.TerminalService"
)

// fields are those of a request, by the names of JSON.
type fields map[string]any

// service is a client of the TerminalService: a connection, and the token that goes with each call.
type service struct {
	conn    *grpc.ClientConn
	methods protoreflect.MethodDescriptors
	token   string
}

func methods() (protoreflect.MethodDescriptors, error) {
	data, err := os.ReadFile(os.Getenv("DESCRIPTORS"))
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	found, err := files.FindDescriptorByName(name)
	if err != nil {
		return nil, err
	}
	return found.(protoreflect.ServiceDescriptor).Methods(), nil
}

func dial(t *testing.T, options ...grpc.DialOption) service {
	t.Helper()
	all, err := methods()
	if err != nil {
		t.Fatal(err)
	}
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(os.Getenv("TARGET"), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return service{conn, all, os.Getenv("TOKEN")}
}

func (s service) with(token string) service {
	s.token = token
	return s
}

// begin returns what every call needs: its context, its path, and its two messages.
func (s service) begin(method string, in fields) (context.Context, context.CancelFunc, string, *dynamicpb.Message, *dynamicpb.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	if s.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token)
	}
	described := s.methods.ByName(protoreflect.Name(method))
	request := dynamicpb.NewMessage(described.Input())
	if in != nil {
		text, err := json.Marshal(in)
		if err == nil {
			err = protojson.Unmarshal(text, request)
		}
		if err != nil {
			panic(err)
		}
	}
	return ctx, cancel, "/" + name + "/" + method, request, dynamicpb.NewMessage(described.Output())
}

func (s service) call(method string, in fields, options ...grpc.CallOption) (protoreflect.Message, error) {
	ctx, cancel, path, request, reply := s.begin(method, in)
	defer cancel()
	err := s.conn.Invoke(ctx, path, request, reply, options...)
	return reply, err
}

func (s service) must(t *testing.T, method string, in fields) protoreflect.Message {
	t.Helper()
	reply, err := s.call(method, in)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return reply
}

// open starts a script and returns its alias and its starter token.
func (s service) open(t *testing.T, script string) (string, string) {
	t.Helper()
	reply := s.must(t, "Open", fields{"shell": "/bin/bash", "shellArgs": []string{"-c", script}})
	return at(reply, "terminal", "alias").String(), at(reply, "starter_token").String()
}

// at follows the names of fields into a message.
func at(m protoreflect.Message, names ...protoreflect.Name) protoreflect.Value {
	value := m.Get(m.Descriptor().Fields().ByName(names[0]))
	if len(names) == 1 {
		return value
	}
	return at(value.Message(), names[1:]...)
}

// listener is a Listen: what arrived, and how it ended.
type listener struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error

	mutex  sync.Mutex
	more   chan struct{}
	data   bytes.Buffer
	exit   int // -1: none
	titles []string
}

func (s service) listen(t *testing.T, alias string) *listener {
	t.Helper()
	ctx, cancel, path, request, _ := s.begin("Listen", fields{"alias": alias})
	t.Cleanup(cancel)
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}, 1), exit: -1}
	go func() {
		defer close(l.ended)
		for {
			m := dynamicpb.NewMessage(s.methods.ByName("Listen").Output())
			if l.err = stream.RecvMsg(m); l.err != nil {
				return
			}
			l.take(m)
		}
	}()
	return l
}

func (l *listener) take(m protoreflect.Message) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch set := m.WhichOneof(m.Descriptor().Oneofs().ByName("output")); set.Name() {
	case "data":
		l.data.Write(m.Get(set).Bytes())
	case "exit_code":
		l.exit = int(m.Get(set).Int())
	case "title":
		l.titles = append(l.titles, m.Get(set).String())
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *listener) text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.data.String()
}

func (l *listener) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.After(hangs); ; {
		l.mutex.Lock()
		yes := is()
		l.mutex.Unlock()
		if yes {
			return
		}
		select {
		case <-l.more:
		case <-l.ended:
			t.Fatalf("%s: the stream has ended: %v, %q", what, l.err, l.text())
		case <-end:
			t.Fatalf("%s: not within %v, %q", what, hangs, l.text())
		}
	}
}

func (l *listener) sees(t *testing.T, text string) {
	t.Helper()
	l.until(t, text, func() bool { return bytes.Contains(l.data.Bytes(), []byte(text)) })
}

func (l *listener) titled(t *testing.T, title string) {
	t.Helper()
	l.until(t, title, func() bool { return len(l.titles) > 0 && l.titles[len(l.titles)-1] == title })
}

// end waits for the end of the stream and returns the exit code (-1: none) and the status.
func (l *listener) end(t *testing.T) (int, codes.Code) {
	t.Helper()
	select {
	case <-l.ended:
	case <-time.After(hangs):
		t.Fatalf("the stream does not end: %q", l.text())
	}
	if l.err == io.EOF {
		return l.exit, codes.OK
	}
	return l.exit, status.Code(l.err)
}

func (l *listener) mustEnd(t *testing.T, exit int, code codes.Code) {
	t.Helper()
	if gotExit, gotCode := l.end(t); gotExit != exit || gotCode != code {
		t.Errorf("exit code %d and %v instead of %d and %v; %v", gotExit, gotCode, exit, code, l.err)
	}
}

func TestATerminalFromOpenToShutdown(t *testing.T) {
	s := dial(t)
	made := s.must(t, "Open", fields{
		"shell": "/bin/bash", "shellArgs": []string{"--norc", "--noprofile"}, "workdir": "/tmp",
		"env": fields{"HELLO": "there"}, "annotations": fields{"a": "ü"}, "size": fields{"rows": 31, "cols": 97},
	})
	alias := at(made, "terminal", "alias").String()
	got := s.must(t, "Get", fields{"alias": alias})
	if at(got, "pid").Int() != at(made, "terminal", "pid").Int() || at(got, "initial_workdir").String() != "/tmp" ||
		at(got, "annotations").Map().Get(protoreflect.ValueOfString("a").MapKey()).String() != "ü" {
		t.Errorf("%v", got)
	}
	l := s.listen(t, alias)
	written := s.must(t, "Write", fields{"alias": alias, "stdin": []byte("stty size; echo \"$HELLO\"\n")})
	if n := at(written, "bytes_written").Uint(); n != 25 {
		t.Errorf("%d bytes written", n)
	}
	l.sees(t, "31 97\r\n")
	l.sees(t, "\nthere\r\n")
	s.must(t, "SetTitle", fields{"alias": alias, "title": "mine"})
	l.titled(t, "mine")
	s.must(t, "Shutdown", fields{"alias": alias})
	if exit, code := l.end(t); exit < 128 || code != codes.OK {
		t.Errorf("%d %v", exit, code)
	}
	listed := at(s.must(t, "List", nil), "terminals").List()
	for i := range listed.Len() {
		if at(listed.Get(i).Message(), "alias").String() == alias {
			t.Error("it is still listed")
		}
	}
}

func TestTheExitCodeFollowsTheLastByteAlsoIfItIsZero(t *testing.T) {
	s := dial(t)
	var want strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&want, "%d\r\n", i+1)
	}
	for _, exit := range []int{0, 3} {
		alias, _ := s.open(t, fmt.Sprintf("seq 5000; exit %d", exit))
		l := s.listen(t, alias)
		l.mustEnd(t, exit, codes.OK)
		if l.text() != want.String() {
			t.Errorf("%d of %d bytes", len(l.text()), want.Len())
		}
	}
}

func TestASizeNeedsTheTokenOrForce(t *testing.T) {
	s := dial(t)
	alias, token := s.open(t, "while read x; do stty size; done")
	l := s.listen(t, alias)
	size := func(rows int, more fields) fields {
		in := fields{"alias": alias, "size": fields{"rows": rows, "cols": 100}}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	if _, err := s.call("SetSize", size(40, nil)); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	for rows, right := range map[int]fields{41: {"token": token}, 42: {"force": true}} {
		s.must(t, "SetSize", size(rows, right))
		s.must(t, "Write", fields{"alias": alias, "stdin": []byte("\n")})
		l.sees(t, fmt.Sprintf("%d 100\r\n", rows))
	}
	s.must(t, "Shutdown", fields{"alias": alias})
}

func TestAListenerThatCancelsLeavesTheOther(t *testing.T) {
	s := dial(t)
	alias, _ := s.open(t, "read x; echo got $x")
	one, two := s.listen(t, alias), s.listen(t, alias)
	two.titled(t, "bash")
	two.cancel()
	two.mustEnd(t, -1, codes.Canceled)
	s.must(t, "Write", fields{"alias": alias, "stdin": []byte("it\n")})
	one.mustEnd(t, 0, codes.OK)
	if !strings.Contains(one.text(), "got it\r\n") {
		t.Errorf("%q", one.text())
	}
}

func TestErrors(t *testing.T) {
	s := dial(t)
	alias, _ := s.open(t, "sleep 1000")
	for _, c := range []struct {
		name    string
		service service
		method  string
		in      fields
		option  grpc.CallOption
		code    codes.Code
	}{
		{"no token", s.with(""), "List", nil, nil, codes.Unauthenticated},
		{"a wrong token", s.with("wrong-wrong-wrong-wrong"), "List", nil, nil, codes.Unauthenticated},
		{"a weak role", s.with(os.Getenv("WATCH_TOKEN")), "Open", nil, nil, codes.PermissionDenied},
		{"an unknown alias", s, "Get", fields{"alias": "none"}, nil, codes.NotFound},
		{"input for an unknown alias", s, "Write", fields{"alias": "none", "stdin": []byte("x")}, nil, codes.NotFound},
		{"a missing shell", s, "Open", fields{"shell": "/nonexistent/shell"}, nil, codes.Internal},
		{"no size", s, "SetSize", fields{"alias": alias, "force": true}, nil, codes.InvalidArgument},
		{"a large message", s, "Write", fields{"alias": alias, "stdin": make([]byte, 4<<20)}, nil, codes.ResourceExhausted},
		{"a compressed message", s, "Write", fields{"alias": alias, "stdin": make([]byte, 5000)}, grpc.UseCompressor(gzip.Name), codes.Unimplemented},
	} {
		t.Run(c.name, func(t *testing.T) {
			var options []grpc.CallOption
			if c.option != nil {
				options = append(options, c.option)
			}
			if _, err := c.service.call(c.method, c.in, options...); status.Code(err) != c.code {
				t.Errorf("%v instead of %v", err, c.code)
			}
		})
	}
	s.listen(t, "none").mustEnd(t, -1, codes.NotFound)
	s.with("").listen(t, alias).mustEnd(t, -1, codes.Unauthenticated)
	s.must(t, "Shutdown", fields{"alias": alias})
}

func TestAHundredAtOnce(t *testing.T) {
	s := dial(t)
	var all sync.WaitGroup
	for i := range terminals {
		all.Go(func() {
			reply, err := s.call("Open", fields{"shell": "sh", "shellArgs": []string{"-c", fmt.Sprintf("read x; echo got $x; exit %d", i%5)}})
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			alias := at(reply, "terminal", "alias").String()
			if _, err := s.call("Write", fields{"alias": alias, "stdin": fmt.Appendf(nil, "n%d\n", i)}); err != nil {
				t.Errorf("%d: %v", i, err)
			}
			ctx, cancel, path, request, _ := s.begin("Listen", fields{"alias": alias})
			defer cancel()
			text, exit, err := collect(ctx, s, path, request)
			if err != nil || exit != i%5 || !strings.Contains(text, fmt.Sprintf("got n%d\r\n", i)) {
				t.Errorf("%d: %q %d %v", i, text, exit, err)
			}
		})
	}
	all.Wait()
}

// collect is a Listen to its end on the goroutine of its caller.
func collect(ctx context.Context, s service, path string, request proto.Message) (string, int, error) {
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err != nil {
		return "", -1, err
	}
	l := listener{more: make(chan struct{}, 1), exit: -1}
	for {
		m := dynamicpb.NewMessage(s.methods.ByName("Listen").Output())
		if err := stream.RecvMsg(m); err == io.EOF {
			return l.text(), l.exit, nil
		} else if err != nil {
			return l.text(), l.exit, err
		}
		l.take(m)
	}
}

func TestFiftyMegabytesArriveWhole(t *testing.T) {
	s := dial(t)
	alias, _ := s.open(t, fmt.Sprintf("stty raw; read -rsn 1; yes 0123456789abcde | head -c %d", flood))
	l := s.listen(t, alias)
	l.titled(t, "bash")
	s.must(t, "Write", fields{"alias": alias, "stdin": []byte("x")})
	l.mustEnd(t, 0, codes.OK)
	if !strings.HasSuffix(l.text(), strings.Repeat(line, flood/len(line))) {
		t.Errorf("%d of %d bytes", len(l.text()), flood)
	}
}

// grpc-go sends a ping after 10 s of silence at the earliest, and a server may take offence at many.
func TestASilenceWithPingsEndsNothing(t *testing.T) {
	quiet, err := strconv.Atoi(os.Getenv("QUIET_S"))
	if err != nil {
		t.Fatal(err)
	}
	s := dial(t, grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}))
	alias, _ := s.open(t, fmt.Sprintf("sleep %d; echo late; exit 4", quiet))
	l := s.listen(t, alias)
	l.mustEnd(t, 4, codes.OK)
	if !strings.Contains(l.text(), "late\r\n") {
		t.Errorf("%q", l.text())
	}
}

// The last test: it cuts every stream of the daemon.
func TestZAListenThatIsCutHasNoExitAndTheNextHasAllOfIt(t *testing.T) {
	s := dial(t)
	alias, _ := s.open(t, "echo before; read x; echo after; exit 6")
	cut := s.listen(t, alias)
	cut.sees(t, "before\r\n")
	s.must(t, "SetTitle", fields{"alias": alias, "title": "kept"})
	worker, err := strconv.Atoi(os.Getenv("WORKER_PID"))
	if err == nil {
		err = syscall.Kill(worker, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	cut.mustEnd(t, -1, codes.Unavailable)
	for end := time.Now().Add(hangs); ; time.Sleep(20 * time.Millisecond) {
		got, err := s.call("Get", fields{"alias": alias}, grpc.WaitForReady(true))
		if err == nil && at(got, "title").String() == "kept" {
			break
		}
		if status.Code(err) != codes.Unavailable || time.Now().After(end) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	again := s.listen(t, alias)
	again.sees(t, "before\r\n")
	s.must(t, "Write", fields{"alias": alias, "stdin": []byte("\n")})
	again.mustEnd(t, 6, codes.OK)
	if !strings.HasSuffix(again.text(), "after\r\n") {
		t.Errorf("%q", again.text())
	}
}

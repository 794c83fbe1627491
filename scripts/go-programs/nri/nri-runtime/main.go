// Command nri-runtime is the runtime's side of NRI alone, by the package that runtimes use: it has no containers, and relays requests to its plugins.
//
//	nri-runtime /run/nri/nri.sock 1s
//
// The arguments are the socket to listen on and the timeout of a request. Each line of the standard input is a request, each line of the output an
// answer, in the same order. Messages are the bytes of protobuf in base64, as in NRI.
//
//	{"method":"CreateContainer","request":"Cg…"}
//	{"response":"Cg…","ms":3} or {"error":"…","ms":1002}
//
// Among the answers, `{"listening":true}` comes once, and `{"synchronizing":true}` for each plugin that connects later.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"google.golang.org/protobuf/proto"
)

// maxLine is the longest request, in bytes.
const maxLine = 8 << 20

type request struct {
	Method  string `json:"method"`
	Request []byte `json:"request"`
}

type answer struct {
	Response []byte `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
	Ms       int64  `json:"ms"`
}

// A call relays the bytes of one request.
type call func(context.Context, []byte) (proto.Message, error)

func main() {
	log.SetFlags(0)
	timeout, err := time.ParseDuration(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	adaptation.SetPluginRequestTimeout(timeout)
	runtime, err := start(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Stop()
	print(map[string]bool{"listening": true})
	calls := listCalls(runtime)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		relay, known := calls[asked.Method]
		if !known {
			log.Fatalf("there is no method %q", asked.Method)
		}
		began := time.Now()
		response, err := relay(context.Background(), asked.Request)
		print(toAnswer(response, err, time.Since(began)))
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func start(socket string) (*adaptation.Adaptation, error) {
	synchronize := func(ctx context.Context, relay adaptation.SyncCB) error {
		print(map[string]bool{"synchronizing": true})
		_, err := relay(ctx, nil, nil)
		return err
	}
	update := func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
		return nil, nil
	}
	// No plugins of the host.
	nowhere := filepath.Join(filepath.Dir(socket), "plugins")
	runtime, err := adaptation.New("nri-runtime", "0.0.0", synchronize, update, adaptation.WithSocketPath(socket),
		adaptation.WithPluginPath(nowhere), adaptation.WithPluginConfigPath(nowhere))
	if err != nil {
		return nil, err
	}
	return runtime, runtime.Start()
}

func listCalls(runtime *adaptation.Adaptation) map[string]call {
	return map[string]call{
		"RunPodSandbox": func(ctx context.Context, bytes []byte) (proto.Message, error) {
			var request api.RunPodSandboxRequest
			return nil, relay(bytes, &request, func() error { return runtime.RunPodSandbox(ctx, &request) })
		},
		"CreateContainer": func(ctx context.Context, bytes []byte) (response proto.Message, err error) {
			var request api.CreateContainerRequest
			err = relay(bytes, &request, func() error {
				response, err = runtime.CreateContainer(ctx, &request)
				return err
			})
			return response, err
		},
		"StopContainer": func(ctx context.Context, bytes []byte) (response proto.Message, err error) {
			var request api.StopContainerRequest
			err = relay(bytes, &request, func() error {
				response, err = runtime.StopContainer(ctx, &request)
				return err
			})
			return response, err
		},
		"RemoveContainer": func(ctx context.Context, bytes []byte) (proto.Message, error) {
			var request api.RemoveContainerRequest
			return nil, relay(bytes, &request, func() error { return runtime.RemoveContainer(ctx, &request) })
		},
	}
}

func relay(bytes []byte, request proto.Message, send func() error) error {
	if err := proto.Unmarshal(bytes, request); err != nil {
		log.Fatal(err)
	}
	return send()
}

func toAnswer(response proto.Message, err error, took time.Duration) answer {
	if err != nil {
		return answer{Error: err.Error(), Ms: took.Milliseconds()}
	}
	if response == nil {
		return answer{Ms: took.Milliseconds()}
	}
	bytes, err := proto.Marshal(response)
	if err != nil {
		log.Fatal(err)
	}
	return answer{Response: bytes, Ms: took.Milliseconds()}
}

// output is written by requests and by plugins that connect.
var output sync.Mutex

func print(line any) {
	output.Lock()
	defer output.Unlock()
	text, err := json.Marshal(line)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}

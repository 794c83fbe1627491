// Command kubelet-oracle answers questions with the code of the kubelet: its CPU manager, memory manager and topology manager.
//
// It reads one question per line from standard input, as JSON, and prints one answer per line, in their order. `op` names the question;
// questions.go has all of them. A question that can't be answered has an answer with `error`: for most, that is the kubelet's own.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

func main() {
	klog.SetLogger(logr.Discard())
	// Options of the static policy that are alpha; those that are beta are on.
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true"); err != nil {
		panic(err)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := &output{writer: bufio.NewWriterSize(os.Stdout, 1<<20)}
	go out.flushRegularly()
	oracle := &oracle{}
	defer oracle.stop()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return out.flush()
		}
		answer, err := json.Marshal(oracle.answer(line))
		if err != nil {
			return err
		}
		if err := out.write(append(answer, '\n')); err != nil {
			return err
		}
		if in.Buffered() > 0 {
			continue
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
}

// Answers to many questions go out together, but none is held back by a question that takes long after it. The kubelet's code may go round without end: the
// process ends when the one that asks is gone.
type output struct {
	mutex  sync.Mutex
	writer *bufio.Writer
}

func (o *output) write(line []byte) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, err := o.writer.Write(line)
	return err
}

func (o *output) flush() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.writer.Flush()
}

func (o *output) flushRegularly() {
	parent := os.Getppid()
	for range time.Tick(100 * time.Millisecond) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
		if o.flush() != nil {
			return // the next write tells
		}
	}
}

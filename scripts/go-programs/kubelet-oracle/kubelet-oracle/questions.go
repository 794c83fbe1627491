package main

import (
	"encoding/json"
	"fmt"
)

// The questions. `machine` is about the machine of all that follow; `policy` about the static policy of `allocate`, `time` and `hints`; `kubelet`
// starts one, with an empty state, for `admit`, `remove` and `restart`.
type question struct {
	Op string `json:"op"`
}

type failure struct {
	Error string `json:"error"`
}

type done struct {
	OK bool `json:"ok"`
}

type oracle struct {
	machine *machine
	policy  *policy
	kubelet *kubelet
}

// A panic of the kubelet's code is its answer too.
func (o *oracle) answer(line []byte) (answered any) {
	defer func() {
		if panicked := recover(); panicked != nil {
			answered = failure{fmt.Sprintf("panic: %v", panicked)}
		}
	}()
	answer, err := o.decide(line)
	if err != nil {
		return failure{err.Error()}
	}
	return answer
}

func (o *oracle) decide(line []byte) (any, error) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	switch q.Op {
	case "machine":
		return ask(line, o.useMachine)
	case "policy":
		return ask(line, o.usePolicy)
	case "allocate":
		return ask(line, o.allocate)
	case "time":
		return ask(line, o.time)
	case "hints":
		return ask(line, o.hint)
	case "merge":
		return ask(line, o.merge)
	case "kubelet":
		return ask(line, o.startKubelet)
	case "restart":
		return ask(line, o.restartKubelet)
	case "admit":
		return ask(line, o.admit)
	case "remove":
		return ask(line, o.remove)
	default:
		return nil, fmt.Errorf("there is no question %q", q.Op)
	}
}

func ask[Q, A any](line []byte, answer func(Q) (A, error)) (any, error) {
	var q Q
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	return answer(q)
}

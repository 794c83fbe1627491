package main

import (
	"slices"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// The same allocation again and again, each on a state of its own that is made before the clock starts.
type timeQuestion struct {
	allocateQuestion
	Repeats int `json:"repeats"`
}

type timeAnswer struct {
	CPUs     string `json:"cpus"`
	MedianNs int64  `json:"medianNs"`
}

func (o *oracle) time(q timeQuestion) (timeAnswer, error) {
	pod := onePod(q.Count)
	var answer timeAnswer
	var took []int64
	for range q.Repeats {
		s, err := o.policy.stateWith(q.Available)
		if err != nil {
			return timeAnswer{}, err
		}
		before := time.Now()
		err = o.policy.static.Allocate(klog.Background(), s, pod, &pod.Spec.Containers[0], lifecycle.AddOperation)
		took = append(took, time.Since(before).Nanoseconds())
		if err != nil {
			return timeAnswer{}, err
		}
		cpus, _ := s.GetCPUSet(string(pod.UID), pod.Spec.Containers[0].Name)
		answer.CPUs = cpus.String()
	}
	slices.Sort(took)
	answer.MedianNs = took[len(took)/2]
	return answer, nil
}

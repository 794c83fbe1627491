package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// The static policy alone: a decision needs no pods before it. The reserved CPUs are listed, or only their number is given.
type policyQuestion struct {
	Options  map[string]string `json:"options"`
	Reserved *string           `json:"reserved"`
	Count    int               `json:"count"`
}

type policyAnswer struct {
	Reserved string `json:"reserved"`
}

type policy struct {
	static   cpumanager.Policy
	affinity *givenAffinity
	reserved cpuset.CPUSet
}

func (o *oracle) usePolicy(q policyQuestion) (policyAnswer, error) {
	reserved, err := parseSet(q.Reserved)
	if err != nil {
		return policyAnswer{}, err
	}
	count := q.Count
	if q.Reserved != nil {
		count = reserved.Size()
	}
	affinity := &givenAffinity{}
	static, err := cpumanager.NewStaticPolicy(klog.Background(), o.machine.topology, count, reserved, affinity, q.Options)
	if err != nil {
		return policyAnswer{}, err
	}
	all := o.machine.topology.CPUDetails.CPUs()
	// It gives the other CPUs, whatever the state is.
	taken := all.Difference(static.GetAllocatableCPUs(state.NewMemoryState(klog.Background())))
	o.policy = &policy{static, affinity, taken}
	return policyAnswer{taken.String()}, nil
}

// A container asks for CPUs while these are available; the topology manager chose the nodes, or none.
type allocateQuestion struct {
	Available string `json:"available"`
	Count     int    `json:"count"`
	Nodes     []int  `json:"nodes"`
}

type allocateAnswer struct {
	CPUs string `json:"cpus"`
}

func (o *oracle) allocate(q allocateQuestion) (allocateAnswer, error) {
	s, err := o.policy.stateWith(q.Available)
	if err != nil {
		return allocateAnswer{}, err
	}
	o.policy.affinity.nodes = nil
	if q.Nodes != nil {
		if o.policy.affinity.nodes, err = bitmask.NewBitMask(q.Nodes...); err != nil {
			return allocateAnswer{}, err
		}
	}
	pod := onePod(q.Count)
	if err := o.policy.static.Allocate(klog.Background(), s, pod, &pod.Spec.Containers[0], lifecycle.AddOperation); err != nil {
		return allocateAnswer{}, err
	}
	cpus, _ := s.GetCPUSet(string(pod.UID), pod.Spec.Containers[0].Name)
	return allocateAnswer{cpus.String()}, nil
}

type hintAnswer struct {
	Hints []hint `json:"hints"` // null: no opinion
}

func (o *oracle) hint(q allocateQuestion) (hintAnswer, error) {
	s, err := o.policy.stateWith(q.Available)
	if err != nil {
		return hintAnswer{}, err
	}
	pod := onePod(q.Count)
	hints := o.policy.static.GetTopologyHints(klog.Background(), s, pod, &pod.Spec.Containers[0], lifecycle.AddOperation)
	return hintAnswer{showHints(hints[string(v1.ResourceCPU)])}, nil
}

func (p *policy) stateWith(available string) (state.State, error) {
	free, err := cpuset.Parse(available)
	if err != nil {
		return nil, err
	}
	s := state.NewMemoryState(klog.Background())
	s.SetDefaultCPUSet(free.Union(p.reserved))
	return s, nil
}

func onePod(count int) *v1.Pod {
	cpu := int64(count) * 1000
	memory := int64(1 << 20)
	resources := resourcesQuestion{Cpu: &cpu, Memory: &memory}
	return describePod(podQuestion{UID: "pod", Containers: []containerQuestion{{Name: "app", Requests: resources, Limits: resources}}})
}

func parseSet(list *string) (cpuset.CPUSet, error) {
	if list == nil {
		return cpuset.New(), nil
	}
	return cpuset.Parse(*list)
}

// A topology manager that chose these nodes for every container.
type givenAffinity struct{ nodes bitmask.BitMask }

func (a *givenAffinity) GetAffinity(klog.Logger, string, string) topologymanager.TopologyHint {
	return topologymanager.TopologyHint{NUMANodeAffinity: a.nodes, Preferred: true}
}
func (a *givenAffinity) GetPolicy() topologymanager.Policy { return topologymanager.NewNonePolicy() }
func (a *givenAffinity) Name() string                      { return "given" }

// Hints of several providers, merged by a policy of the topology manager.
type mergeQuestion struct {
	Policy    string              `json:"policy"`
	Options   map[string]string   `json:"options"`
	Providers []map[string][]hint `json:"providers"`
}

type mergeAnswer struct {
	Hint  hint `json:"hint"`
	Admit bool `json:"admit"`
}

func (o *oracle) merge(q mergeQuestion) (mergeAnswer, error) {
	options, err := topologymanager.NewPolicyOptions(klog.Background(), q.Options)
	if err != nil {
		return mergeAnswer{}, err
	}
	numa, err := topologymanager.NewNUMAInfo(o.machine.info.Topology, options)
	if err != nil {
		return mergeAnswer{}, err
	}
	merge, err := newMerger(q.Policy, numa, options)
	if err != nil {
		return mergeAnswer{}, err
	}
	var providers []map[string][]topologymanager.TopologyHint
	for _, provider := range q.Providers {
		hints, err := readHints(provider)
		if err != nil {
			return mergeAnswer{}, err
		}
		providers = append(providers, hints)
	}
	best, admit := merge.Merge(klog.Background(), providers)
	return mergeAnswer{showHint(best), admit}, nil
}

func newMerger(name string, numa *topologymanager.NUMAInfo, options topologymanager.PolicyOptions) (topologymanager.Policy, error) {
	switch name {
	case topologymanager.PolicyBestEffort:
		return topologymanager.NewBestEffortPolicy(numa, options), nil
	case topologymanager.PolicyRestricted:
		return topologymanager.NewRestrictedPolicy(numa, options), nil
	case topologymanager.PolicySingleNumaNode:
		return topologymanager.NewSingleNumaNodePolicy(numa, options), nil
	default:
		return nil, fmt.Errorf("there is no policy %q that merges hints", name)
	}
}

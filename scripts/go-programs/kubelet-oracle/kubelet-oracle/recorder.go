package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// The hints that a provider gave in an admission. Container is empty for those of a whole pod. Hints by resource; null: no opinion.
type askedHint struct {
	Provider  string            `json:"provider"`
	Container string            `json:"container"`
	Hints     map[string][]hint `json:"hints"`
}

// A recorder stands before the kubelet's providers of hints, and keeps what they answer.
type recorder struct{ hints []askedHint }

func (r *recorder) reset() { r.hints = []askedHint{} }

func (r *recorder) record(name string, provider topologymanager.HintProvider) topologymanager.HintProvider {
	return recorded{provider, name, r}
}

func (r *recorder) keep(provider, container string, hints map[string][]topologymanager.TopologyHint) map[string][]topologymanager.TopologyHint {
	var shown map[string][]hint
	if hints != nil {
		shown = map[string][]hint{}
	}
	for resource, of := range hints {
		shown[resource] = showHints(of)
	}
	r.hints = append(r.hints, askedHint{provider, container, shown})
	return hints
}

type recorded struct {
	topologymanager.HintProvider
	name string
	in   *recorder
}

func (p recorded) GetTopologyHints(logger klog.Logger, pod *v1.Pod, container *v1.Container, operation lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return p.in.keep(p.name, container.Name, p.HintProvider.GetTopologyHints(logger, pod, container, operation))
}

func (p recorded) GetPodTopologyHints(logger klog.Logger, pod *v1.Pod, operation lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return p.in.keep(p.name, "", p.HintProvider.GetPodTopologyHints(logger, pod, operation))
}

package main

import (
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
)

// A hint: its nodes, null for any, and whether it is preferred.
type hint struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred"`
}

func showHint(h topologymanager.TopologyHint) hint {
	if h.NUMANodeAffinity == nil {
		return hint{nil, h.Preferred}
	}
	return hint{h.NUMANodeAffinity.GetBits(), h.Preferred}
}

func showHints(hints []topologymanager.TopologyHint) []hint {
	if hints == nil {
		return nil
	}
	shown := make([]hint, 0, len(hints))
	for _, h := range hints {
		shown = append(shown, showHint(h))
	}
	return shown
}

func readHints(provider map[string][]hint) (map[string][]topologymanager.TopologyHint, error) {
	if provider == nil {
		return nil, nil
	}
	read := map[string][]topologymanager.TopologyHint{}
	for resource, hints := range provider {
		if hints == nil {
			read[resource] = nil
			continue
		}
		read[resource] = []topologymanager.TopologyHint{}
		for _, h := range hints {
			var mask bitmask.BitMask
			if h.Nodes != nil {
				var err error
				if mask, err = bitmask.NewBitMask(h.Nodes...); err != nil {
					return nil, err
				}
			}
			read[resource] = append(read[resource], topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: h.Preferred})
		}
	}
	return read, nil
}

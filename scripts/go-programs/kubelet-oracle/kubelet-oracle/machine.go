package main

import (
	cadvisorapi "github.com/google/cadvisor/lib/model"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
)

// A machine. A CPU is its number, and those of its core, socket, NUMA node and uncore cache. Distances are by node, in the order of nodes.
type machineQuestion struct {
	CPUs      [][5]int       `json:"cpus"`
	Memory    map[int]uint64 `json:"memory"`
	HugePages map[int]uint64 `json:"hugePages"` // pages of 2 MiB
	Distances [][]uint64     `json:"distances"`
}

type machine struct {
	info     *cadvisorapi.MachineInfo
	topology *topology.CPUTopology
}

func (o *oracle) useMachine(q machineQuestion) (done, error) {
	info := describeMachine(q)
	topo, err := topology.Discover(klog.Background(), info)
	if err != nil {
		return done{}, err
	}
	o.stop()
	o.machine = &machine{info, topo}
	return done{true}, nil
}

// The machine as cAdvisor describes it to the kubelet: nodes, and their cores, in ascending order.
func describeMachine(q machineQuestion) *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{NumCores: len(q.CPUs)}
	sockets := map[int]bool{}
	nodes := map[int]int{}
	cores := map[[2]int]int{}
	for _, cpu := range q.CPUs {
		id, core, socket, node, cache := cpu[0], cpu[1], cpu[2], cpu[3], cpu[4]
		sockets[socket] = true
		n, known := nodes[node]
		if !known {
			n = len(info.Topology)
			nodes[node] = n
			info.Topology = append(info.Topology, describeNode(node, q))
		}
		of := &info.Topology[n]
		c, known := cores[[2]int{node, core}]
		if !known {
			c = len(of.Cores)
			cores[[2]int{node, core}] = c
			uncore := cadvisorapi.Cache{Id: cache, Level: 3, Type: "Unified"}
			of.Cores = append(of.Cores, cadvisorapi.Core{Id: core, SocketID: socket, UncoreCaches: []cadvisorapi.Cache{uncore}})
		}
		of.Cores[c].Threads = append(of.Cores[c].Threads, id)
		info.MemoryCapacity = 0
	}
	info.NumSockets = len(sockets)
	for _, node := range info.Topology {
		info.MemoryCapacity += node.Memory
	}
	return info
}

func describeNode(id int, q machineQuestion) cadvisorapi.Node {
	node := cadvisorapi.Node{Id: id, Memory: q.Memory[id]}
	if pages := q.HugePages[id]; pages > 0 {
		node.HugePages = []cadvisorapi.HugePagesInfo{{PageSize: 2048, NumPages: pages}}
	}
	if id < len(q.Distances) {
		node.Distances = q.Distances[id]
	}
	return node
}

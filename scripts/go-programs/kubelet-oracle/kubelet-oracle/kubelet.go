package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// A kubelet: the managers as it makes them, with state files in a folder, and the pods that it admitted.
type kubelet struct {
	folder   string
	cpu      cpumanager.Manager
	memory   memorymanager.Manager
	topology topologymanager.Manager
	asked    *recorder
	mutex    sync.Mutex
	pods     []*v1.Pod
}

type kubeletQuestion struct {
	Options  map[string]string `json:"options"`
	Reserved string            `json:"reserved"`
	Topology struct {
		Policy  string            `json:"policy"`
		Scope   string            `json:"scope"`
		Options map[string]string `json:"options"`
	} `json:"topologyManager"`
	ReservedMemory map[int]int64 `json:"reservedMemory"` // by node; null: the policy of the memory manager is None
	PodLevel       bool          `json:"podLevel"`       // PodLevelResourceManagers
}

type kubeletAnswer struct {
	Default string        `json:"default"`
	Pods    []admitAnswer `json:"pods"`
}

func (o *oracle) startKubelet(q kubeletQuestion) (kubeletAnswer, error) {
	o.stop()
	folder, err := os.MkdirTemp("", "kubelet-oracle-")
	if err != nil {
		return kubeletAnswer{}, err
	}
	o.kubelet = &kubelet{folder: folder}
	return o.kubelet.start(o.machine, q)
}

func (o *oracle) stop() {
	if o.kubelet != nil {
		os.RemoveAll(o.kubelet.folder)
	}
	o.kubelet = nil
}

// Starts the kubelet again, over its state; it admits its pods anew, in their order.
func (o *oracle) restartKubelet(q kubeletQuestion) (kubeletAnswer, error) {
	before := o.kubelet
	o.kubelet = &kubelet{folder: before.folder, pods: before.pods}
	return o.kubelet.start(o.machine, q)
}

func (k *kubelet) start(m *machine, q kubeletQuestion) (kubeletAnswer, error) {
	gates := map[string]bool{"PodLevelResourceManagers": q.PodLevel}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return kubeletAnswer{}, err
	}
	logger := logr.Discard()
	reserved, err := cpuset.Parse(q.Reserved)
	if err != nil {
		return kubeletAnswer{}, err
	}
	k.topology, err = topologymanager.NewManager(logger, m.info.Topology, q.Topology.Policy, q.Topology.Scope, q.Topology.Options)
	if err != nil {
		return kubeletAnswer{}, err
	}
	reservation := v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(reserved.Size()), resource.DecimalSI)}
	k.cpu, err = cpumanager.NewManager(logger, "static", q.Options, time.Hour, m.info, reserved, reservation, k.folder, k.topology)
	if err != nil {
		return kubeletAnswer{}, err
	}
	k.memory, err = newMemoryManager(logger, m, q, k)
	if err != nil {
		return kubeletAnswer{}, err
	}
	k.asked = &recorder{}
	// In the order of the kubelet's container manager.
	k.topology.AddHintProvider(logger, k.asked.record("cpu", k.cpu))
	k.topology.AddHintProvider(logger, k.asked.record("memory", k.memory))
	ctx := klog.NewContext(context.Background(), logger)
	if err := k.cpu.Start(ctx, k.activePods, ready{}, noStatus{}, noRuntime{}, containermap.NewContainerMap()); err != nil {
		return kubeletAnswer{}, err
	}
	if err := k.memory.Start(ctx, k.activePods, ready{}, noStatus{}, noRuntime{}, containermap.NewContainerMap()); err != nil {
		return kubeletAnswer{}, err
	}
	answer := kubeletAnswer{Pods: []admitAnswer{}}
	waiting := k.activePods()
	var kept []*v1.Pod
	for len(waiting) > 0 {
		pod := waiting[0]
		waiting = waiting[1:]
		k.setPods(append(kept, pod), waiting)
		admitted := k.admit(pod)
		answer.Pods = append(answer.Pods, admitted)
		if admitted.Admitted {
			kept = append(kept, pod)
		}
	}
	answer.Default = k.cpu.State().GetDefaultCPUSet().String()
	return answer, nil
}

func newMemoryManager(logger klog.Logger, m *machine, q kubeletQuestion, k *kubelet) (memorymanager.Manager, error) {
	if q.ReservedMemory == nil {
		return memorymanager.NewManager(logger, "None", m.info, nil, nil, k.folder, k.topology)
	}
	var total int64
	var reserved []kubeletconfig.MemoryReservation
	for node, bytes := range q.ReservedMemory {
		total += bytes
		limits := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(bytes, resource.BinarySI)}
		reserved = append(reserved, kubeletconfig.MemoryReservation{NumaNode: int32(node), Limits: limits})
	}
	sum := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(total, resource.BinarySI)}
	return memorymanager.NewManager(logger, "Static", m.info, sum, reserved, k.folder, k.topology)
}

type admitQuestion struct {
	Pod podQuestion `json:"pod"`
}

type admitAnswer struct {
	UID      string            `json:"uid"`
	Admitted bool              `json:"admitted"`
	Reason   string            `json:"reason,omitempty"`
	Message  string            `json:"message,omitempty"`
	CPUs     map[string]string `json:"cpus"`   // by container, those that it has alone or its pod has
	Memory   map[string][]int  `json:"memory"` // NUMA nodes by container
	PodCPUs  string            `json:"podCpus,omitempty"`
	Asked    []askedHint       `json:"asked"`
	Affinity map[string]hint   `json:"affinity"`
	Default  string            `json:"default"`
}

func (o *oracle) admit(q admitQuestion) (admitAnswer, error) {
	pod := describePod(q.Pod)
	k := o.kubelet
	// The pods that may keep what they have, while this one is admitted, are those that were admitted, and it.
	k.setPods(append(k.activePods(), pod), nil)
	return k.admit(pod), nil
}

func (k *kubelet) admit(pod *v1.Pod) admitAnswer {
	ctx := klog.NewContext(context.Background(), logr.Discard())
	k.asked.reset()
	result := k.topology.Admit(ctx, &lifecycle.PodAdmitAttributes{Pod: pod, Operation: lifecycle.AddOperation})
	answer := admitAnswer{UID: string(pod.UID), Admitted: result.Admit, Reason: result.Reason, Message: result.Message,
		CPUs: map[string]string{}, Memory: map[string][]int{}, Asked: k.asked.hints, Affinity: map[string]hint{}}
	if !result.Admit {
		k.drop(string(pod.UID))
	}
	if cpus := k.cpu.GetPodCPUs(string(pod.UID)); !cpus.IsEmpty() {
		answer.PodCPUs = cpus.String()
	}
	for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		if cpus, ok := k.cpu.State().GetCPUAssignments()[string(pod.UID)][container.Name]; ok {
			answer.CPUs[container.Name] = cpus.String()
		}
		if nodes := k.memory.GetMemoryNUMANodes(logr.Discard(), pod, &container); len(nodes) > 0 {
			answer.Memory[container.Name] = nodes.UnsortedList()
		}
		answer.Affinity[container.Name] = showHint(k.topology.GetAffinity(logr.Discard(), string(pod.UID), container.Name))
	}
	answer.Default = k.cpu.State().GetDefaultCPUSet().String()
	return answer
}

type removeQuestion struct {
	UID string `json:"uid"`
}

// A pod is gone. The kubelet frees what it had when it is asked the next time, and it is asked here.
func (o *oracle) remove(q removeQuestion) (kubeletAnswer, error) {
	k := o.kubelet
	if !k.drop(q.UID) {
		return kubeletAnswer{}, fmt.Errorf("there is no pod %q", q.UID)
	}
	return kubeletAnswer{Default: k.cpu.State().GetDefaultCPUSet().String(), Pods: []admitAnswer{}}, nil
}

func (k *kubelet) drop(uid string) bool {
	var rest []*v1.Pod
	before := k.activePods()
	for _, pod := range before {
		if string(pod.UID) != uid {
			rest = append(rest, pod)
		}
	}
	k.setPods(rest, nil)
	nobody := &v1.Pod{}
	k.cpu.GetPodTopologyHints(logr.Discard(), nobody, lifecycle.AddOperation)
	k.memory.GetPodTopologyHints(logr.Discard(), nobody, lifecycle.AddOperation)
	return len(rest) < len(before)
}

func (k *kubelet) activePods() []*v1.Pod {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return append([]*v1.Pod{}, k.pods...)
}

func (k *kubelet) setPods(admitted, waiting []*v1.Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.pods = append(append([]*v1.Pod{}, admitted...), waiting...)
}

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

type noStatus struct{}

func (noStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

type noRuntime struct{}

func (noRuntime) UpdateContainerResources(context.Context, string, *runtimeapi.ContainerResources) error {
	return nil
}

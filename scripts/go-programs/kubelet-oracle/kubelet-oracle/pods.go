package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Millicores and bytes; absent = not set.
type resourcesQuestion struct {
	Cpu       *int64 `json:"cpu"`
	Memory    *int64 `json:"memory"`
	HugePages *int64 `json:"hugePages"` // of 2 MiB
}

type containerQuestion struct {
	Name     string            `json:"name"`
	Sidecar  bool              `json:"sidecar"`
	Requests resourcesQuestion `json:"requests"`
	Limits   resourcesQuestion `json:"limits"`
}

type podQuestion struct {
	UID            string              `json:"uid"`
	InitContainers []containerQuestion `json:"init"`
	Containers     []containerQuestion `json:"containers"`
	Requests       *resourcesQuestion  `json:"requests"` // pod-level resources
	Limits         *resourcesQuestion  `json:"limits"`
}

func describePod(q podQuestion) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(q.UID), Name: q.UID, Namespace: "oracle"}}
	pod.Spec.InitContainers = describeContainers(q.InitContainers)
	pod.Spec.Containers = describeContainers(q.Containers)
	if q.Requests != nil || q.Limits != nil {
		pod.Spec.Resources = &v1.ResourceRequirements{}
		if q.Requests != nil {
			pod.Spec.Resources.Requests = describeResources(*q.Requests)
		}
		if q.Limits != nil {
			pod.Spec.Resources.Limits = describeResources(*q.Limits)
		}
	}
	return pod
}

func describeContainers(questions []containerQuestion) []v1.Container {
	var containers []v1.Container
	for _, q := range questions {
		container := v1.Container{Name: q.Name}
		container.Resources.Requests = describeResources(q.Requests)
		container.Resources.Limits = describeResources(q.Limits)
		if q.Sidecar {
			always := v1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		containers = append(containers, container)
	}
	return containers
}

func describeResources(q resourcesQuestion) v1.ResourceList {
	list := v1.ResourceList{}
	if q.Cpu != nil {
		list[v1.ResourceCPU] = *resource.NewMilliQuantity(*q.Cpu, resource.DecimalSI)
	}
	if q.Memory != nil {
		list[v1.ResourceMemory] = *resource.NewQuantity(*q.Memory, resource.BinarySI)
	}
	if q.HugePages != nil {
		list[v1.ResourceName("hugepages-2Mi")] = *resource.NewQuantity(*q.HugePages, resource.BinarySI)
	}
	return list
}

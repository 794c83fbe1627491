export { ClusterNode, type Mode, type NodeOptions, type Part, startNode } from './cluster-node';
export { type ClusterFacts, readClusterFacts } from './cluster-facts';
export { ClusterPod, containersOf, type ContainerTemplate, type PodTemplate, toContainer } from './cluster-pod';
export { exclusiveCpu, reservedCpus } from './cpus';
export { expectOwner } from './expect-owner';
export { kubeApi, kubectl } from './kube-api';
export type { Condition, ContainerStatus, KubeEvent, KubeNode, KubePod, NodeTopology } from './objects';
export { onEachNode } from './on-each-node';

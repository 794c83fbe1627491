export { ClusterNode, type Mode, type NodeOptions, startNode } from './cluster-node';
export { type ClusterFacts, readClusterFacts } from './cluster-facts';
export { ClusterPod, containersOf, type ContainerTemplate, type PodTemplate, toContainer } from './cluster-pod';
export { kubeApi, kubectl } from './kube-api';
export type { Condition, ContainerStatus, KubeEvent, KubeNode, KubePod } from './objects';
export { onEachNode } from './on-each-node';

export { type AuditedRequest, readAuditLog } from './audit-log';
export { ClusterNode, type Mode, type NodeOptions, startNode } from './cluster-node';
export { type ClusterFacts, readClusterFacts } from './cluster-facts';
export { ClusterPod, containersOf, type ContainerTemplate, type PodTemplate, toContainer } from './cluster-pod';
export { DaemonSetPod, importImage } from './daemon-set';
export { createToken, credentialIdOf, writeKubeconfig } from './identities';
export { KubeApi, kubeApi, kubectl } from './kube-api';
export type { Condition, ContainerStatus, KubeEvent, KubeNode, KubePod } from './objects';
export { onEachNode, onOneNode } from './on-each-node';

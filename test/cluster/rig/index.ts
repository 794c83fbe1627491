export { type AuditedRequest, readAuditLog } from './audit-log';
export { type ClusterFacts, readClusterFacts, useCluster } from './cluster-facts';
export { ClusterNode, type Mode, type NodeOptions, type Part, startNode } from './cluster-node';
export {
  ClusterPod,
  containersOf,
  type ContainerTemplate,
  oneCpu,
  type PodTemplate,
  toContainer,
  waitForSigterm,
} from './cluster-pod';
export { exclusiveCpu, kubeletOfTwoCpus, kubeletWithoutReservation, reservedCpus } from './cpus';
export { type Applied, buildImage, DaemonSetPod, importImage } from './daemon-set';
export { expectOwner } from './expect-owner';
export { findCgroup } from './find-cgroup';
export { createToken, credentialIdOf, writeKubeconfig } from './identities';
export { KubeApi, kubeApi, kubectl } from './kube-api';
export { deleteTopologies, topologiesOf, type TopologyGroup, topologyGroups, topologyVersions } from './node-topology';
export type { ContainerStatus, KubePod } from './objects';
export { onEachNode, onOneNode } from './on-each-node';

export { KubeClient, MERGE_PATCH, ONLY_METADATA } from './api/kube-client';
export { explainKubeError, KubeError } from './api/kube-error';
export { getByPodProxy, getByPortForward, type PodRequest } from './api/pod-http';
export type { KubeConfigSource } from './api/load-kube-config';
export { readCredentialFile } from './api/read-credential-file';
export { askKubelet } from './api/read-node';
export { MissingRights, type Right } from './api/missing-rights';
export { CollectionInformer } from './collection/collection-informer';
export { listInPages } from './collection/list-in-pages';
export { CollectionReader } from './collection/collection-reader';
export { checkLeaseTimes, leadWhileHeld, unrivalled, type Leadership, type LeaseTimes } from './leases/leader-election';
export { EventRecorder, type NodeEventMessage, type PodEventMessage } from './reporting/event-recorder';
export { CONDITION_TYPE, NodeCondition, STOPPED, type NodeState } from './reporting/node-condition';
export { readKubeletConfig, type KubeletConfig } from './kubelet/kubelet-config';
export { listUnknownFields } from './kubelet/unknown-fields';
export { NodeInformer, toNodeIdentity } from './nodes/node-informer';
export { parseAvoidanceAction } from './qos/parse-avoidance-action';
export { parseNodeQos } from './qos/parse-node-qos';
export { parsePodQos } from './qos/parse-pod-qos';
export type { Parsed } from './qos/field';
export { PodInformer } from './pods/pod-informer';
export { parseQosPod } from './pods/parse-qos-pod';
export { amountIn, BOUND_PODS, readPod, UNFINISHED_PODS, type ContainerObject, type PodObject } from './pods/read-pod';
export { formatAmount, readAmount, readResourceList, type ResourceList } from './objects/resource-list';
export { toWatchedPod, type WatchedPod } from './pods/to-pod-spec';
export { EVICT_PODS, evictPod, type Eviction, type EvictionOutcome } from './qos/evict-pod';
export {
  LEND_RESOURCES,
  toNodeState,
  writeElasticResources,
  type ElasticResources,
  type NodeState as QosNodeState,
} from './qos/node-resources';
export {
  INTERFERENCE_CONDITION,
  INTERFERENCE_TAINT,
  interferenceCondition,
  setInterferenceTaint,
  TAINT_NODE,
  type Interference,
  type TaintChange,
} from './qos/node-taint';
export { parsePrediction } from './qos/parse-prediction';
export {
  ASK_FOR_PREDICTION,
  createPrediction,
  patchPrediction,
  readPredictionTemplate,
  toStoredPrediction,
  type StoredPrediction,
} from './qos/prediction-object';
export { QosObjects, type Followed, type ObjectReaders } from './qos/watch-objects';
export { ASSUMED_PODS, formatClaims, MAX_CLAIMS, readClaims, type Claim } from './node-resource-topology/claims';
export { readCommunityOffer, readCraneOffer } from './node-resource-topology/read-offer';
export {
  readCommunityTopology,
  readCraneTopology,
  type PublishedTopology,
} from './node-resource-topology/read-topology';
export { schedulerMilliCpuOf } from './pods/scheduler-request';
export { readPodToPlace, toPodToPlace } from './pods/pod-to-place';
export { announcementOf, formatTopologyResult, readTopologyResult } from './pods/topology-result';
export { communityTopology } from './node-resource-topology/community-topology';
export { craneTopology } from './node-resource-topology/crane-topology';
export type { NodeSummary, PromiseCounts, PublishedGap } from './node-resource-topology/node-summary';
export { loadPodFingerprint } from './node-resource-topology/pod-fingerprint';
export type { Report, TopologyKind } from './node-resource-topology/topology-resource';
export type { NodeIdentity } from './objects/owner-reference';
export { TopologyPublisher } from './node-resource-topology/topology-publisher';
export { asArray, asObject, asString, asTexts, resourceVersionOf, type JsonObject } from './json';
export { MAX_AMOUNT, parseMilli, parseWhole, sumAmounts } from './quantity';

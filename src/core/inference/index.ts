export { parseCgroupParent } from './cgroup-parent';
export type { CgroupParent } from './cgroup-parent';
export * from './cri-numbers';
export { inferCpuRequest } from './infer-cpu-request';
export type { CpuRequest } from './infer-cpu-request';
export { exclusiveCpusOf, sumPodCpus } from './pod-cpus';
export type { ContainerKind } from './pod-cpus';
export { classifyQos, qosOfOomScore } from './qos';
export type { QosClass, SpecResources } from './qos';

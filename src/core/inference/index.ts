export { parseCgroupParent } from './cgroup-parent';
export * from './cri-numbers';
export { explainsMessage, guaranteedBySpec, wholeBySpec } from './entitle-by-spec';
export { inferCpuRequest } from './infer-cpu-request';
export type { CpuRequest } from './infer-cpu-request';
export { inferWholeCpus } from './infer-whole-cpus';
export { exclusiveCpusOf, sumPodCpus } from './pod-cpus';
export { classifyQos } from './qos';
export type { QosClass } from './qos';

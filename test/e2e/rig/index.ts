export { cpusetDirOf, type CpusetFiles, inCgroup, quotaFileOf, readMask, readQuotaUs } from './cgroup-files';
export { printMaskThenExit, printMaskThenSleep } from './commands';
export { RunningContainer } from './container';
export { bundle, Daemon, type DaemonOptions, type LogLine, startDaemon } from './daemon';
export { patienceMs, poll, waitUntil } from '../../support/wait-until';
export { findFreePort } from '../../support/free-port';
export { exclusiveList, lastCpu, onlineCpus } from './online-cpus';
export { replaceFile } from './replace-file';
export { type ContainerSpec, Kubelet, type PodSpec } from './kubelet';
export type { Qos, ResourceSpec } from './kubelet-numbers';
export { RunningPod } from './pod';
export {
  defineOnce,
  knowsRequiredPlugins,
  onEachRuntime,
  onRuntimes,
  requireRuntime,
  runtimeNames,
  type Suite,
} from './require-runtime';
export { askDaemon, isHealthy, readPrintedStatus, readStatus, type ShownContainer, type ShownStatus } from './status';
export { type Runtime, type RuntimeFacts, startRuntime } from './runtime';

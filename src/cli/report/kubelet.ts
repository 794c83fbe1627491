import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../app/config';
import { readFirstDocument } from '../../files/parse-yaml';
import { MAX_KUBELET_STATE_BYTES, parseKubeletState } from '../../state/kubelet-checkpoint';
import type { Part } from './part';
import { readIfThere, readText } from './read-text';

/** Fields of the kubelet's configuration that concern CPUs. No other is shown. */
const OF_CPUS =
  /^(?:cpuManager\w+|topologyManager\w+|memoryManagerPolicy|reservedSystemCPUs|kubeReserved|systemReserved|cgroup\w+|kubeletCgroups|systemCgroups|kubeReservedCgroup|systemReservedCgroup|enforceNodeAllocatable|cpuCFSQuota\w*|failCgroupV1|featureGates)$/;
const MAX_CONFIG_BYTES = 64 * 1024;

/** The parts that concern CPUs of the kubelet's configuration and in the state file of its CPU manager. */
export function readKubelet({ kubeletRootDir, kubeletConfig }: Pick<Config, 'kubeletRootDir' | 'kubeletConfig'>): Part {
  const usual = join(kubeletRootDir, 'config.yaml');
  const path = kubeletConfig?.kind === 'file' ? kubeletConfig.path : usual;
  const isThere = path !== usual || existsSync(path);
  return {
    name: 'kubelet.json',
    data: {
      path,
      config: isThere ? readConfig(path) : 'missing',
      state: readState(join(kubeletRootDir, 'cpu_manager_state')),
    },
  };
}

function readConfig(path: string): object {
  const fields = readFields(readText(path, MAX_CONFIG_BYTES));
  if (typeof fields !== 'object' || fields === null) return { problem: 'it is not a KubeletConfiguration' };
  return Object.fromEntries(Object.entries(fields).filter(([name]) => OF_CPUS.test(name)));
}

/** Undefined for what is no YAML. */
function readFields(text: string): unknown {
  try {
    return readFirstDocument(text).value;
  } catch {
    return undefined;
  }
}

function readState(path: string): object | string {
  const text = readIfThere(path, MAX_KUBELET_STATE_BYTES);
  if (text === undefined) return 'missing';
  const parsed = parseKubeletState(text);
  if (!parsed.ok) return { problem: 'no kubelet writes such a file' };
  const { policyName, defaultCpuSet } = parsed.state;
  return { policyName, defaultCpuSet };
}

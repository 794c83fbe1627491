import type { TopologyManagerOptions } from '../model/settings';
import { failWith, parseBoolean, type Parsed } from './problem';

/** The kubelet's default, and the least that it accepts. */
export const MIN_ALLOWABLE_NUMA_NODES = 8;
/** The most for which every combination of nodes can be compared in time. */
export const MAX_ALLOWABLE_NUMA_NODES = 16;

export const NO_TOPOLOGY_MANAGER_OPTIONS: TopologyManagerOptions = {
  preferClosestNumaNodes: false,
  maxAllowableNumaNodes: MIN_ALLOWABLE_NUMA_NODES,
};

const NAMES = ['max-allowable-numa-nodes', 'prefer-closest-numa-nodes'];

/**
 * Reads topology-manager-policy-options, each by its kubelet name. The first fault is reported: a name, then a value.
 */
export function parseTopologyManagerOptions(values: ReadonlyMap<string, string>): Parsed<TopologyManagerOptions> {
  for (const name of values.keys()) {
    if (!NAMES.includes(name)) {
      return failWith(
        'unknown-option',
        `unknown Topology Manager Policy option: "${name}"; options are ${NAMES.join(', ')}`,
      );
    }
  }
  let { preferClosestNumaNodes, maxAllowableNumaNodes } = NO_TOPOLOGY_MANAGER_OPTIONS;
  const closest = values.get('prefer-closest-numa-nodes');
  if (closest !== undefined) {
    const value = parseBoolean(closest);
    if (value === undefined) {
      return failWith(
        'bad-value',
        `bad value for option "prefer-closest-numa-nodes": "${closest}" is not a boolean; write true or false`,
      );
    }
    preferClosestNumaNodes = value;
  }
  const most = values.get('max-allowable-numa-nodes');
  if (most !== undefined) {
    const value = /^\d{1,9}$/.test(most) ? Number(most) : NaN;
    if (!(value >= MIN_ALLOWABLE_NUMA_NODES && value <= MAX_ALLOWABLE_NUMA_NODES)) {
      return failWith(
        'bad-value',
        `bad value for option "max-allowable-numa-nodes": "${most}" is not a whole number from ` +
          `${MIN_ALLOWABLE_NUMA_NODES} to ${MAX_ALLOWABLE_NUMA_NODES}; write one`,
      );
    }
    maxAllowableNumaNodes = value;
  }
  return { ok: true, options: { preferClosestNumaNodes, maxAllowableNumaNodes } };
}

/** Refuses a machine that has too many NUMA nodes for the policy; the policy none does not look at them. */
export function checkTopologyManagerOptions(
  options: TopologyManagerOptions,
  { policy, numaNodes }: { readonly policy: string; readonly numaNodes: number },
): Parsed<TopologyManagerOptions> {
  if (policy === 'none' || numaNodes <= options.maxAllowableNumaNodes) return { ok: true, options };
  const remedy =
    numaNodes <= MAX_ALLOWABLE_NUMA_NODES
      ? `set max-allowable-numa-nodes to ${numaNodes}, or topology-manager-policy to none`
      : 'set topology-manager-policy to none';
  return failWith(
    'incompatible',
    `topology-manager-policy ${policy} allows ${options.maxAllowableNumaNodes} NUMA nodes, this machine has ${numaNodes}; ${remedy}`,
  );
}

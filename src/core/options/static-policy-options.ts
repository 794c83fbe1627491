import { POLICY_TABLE, type PolicyName } from '../model/policies';
import { NO_OPTIONS, OPTIONS_BY_NAME, type StaticPolicyOptions } from '../model/settings';
import type { Topology } from '../topology';
import { failWith, parseBoolean, type OptionProblem, type Parsed } from './problem';

const EXCLUSIONS: readonly (readonly [string, string])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

/**
 * Reads cpu-manager-policy-options, each by its kubelet name with the text of a boolean.
 * The first fault is reported: a name, then a value, then two options that exclude each other.
 */
export function parseStaticPolicyOptions(values: ReadonlyMap<string, string>): Parsed<StaticPolicyOptions> {
  for (const name of values.keys()) {
    if (!OPTIONS_BY_NAME.has(name)) {
      return failWith(
        'unknown-option',
        `unknown CPU Manager Policy option: "${name}"; options are ${[...OPTIONS_BY_NAME.keys()].join(', ')}`,
      );
    }
  }
  const options: { -readonly [Key in keyof StaticPolicyOptions]: boolean } = { ...NO_OPTIONS };
  for (const [name, text] of values) {
    const value = parseBoolean(text);
    if (value === undefined) {
      return failWith('bad-value', `bad value for option "${name}": "${text}" is not a boolean; write true or false`);
    }
    options[OPTIONS_BY_NAME.get(name)!] = value;
  }
  for (const [first, second] of EXCLUSIONS) {
    if (options[OPTIONS_BY_NAME.get(first)!] && options[OPTIONS_BY_NAME.get(second)!]) {
      return failWith(
        'incompatible',
        `static policy options ${first} and ${second} can not be used at the same time; set one of them to false`,
      );
    }
  }
  return { ok: true, options };
}

/** Refuses options that no policy in force reads, even when they are switched off. */
export function checkOptionsAreUsed(
  policies: readonly PolicyName[],
  values: ReadonlyMap<string, string>,
): OptionProblem | undefined {
  if (values.size === 0 || policies.some((policy) => POLICY_TABLE[policy].takesOptions)) return undefined;
  return {
    kind: 'none-policy-options',
    because: `the policy ${policies[0] ?? 'none'} has no options; remove them, or set --cpu-manager-policy static`,
  };
}

/** Refuses options that this machine or the topology manager policy forbids: only align-by-socket has such rules. */
export function checkStaticPolicyOptions(
  options: StaticPolicyOptions,
  { topology, topologyManagerPolicy }: { readonly topology: Topology; readonly topologyManagerPolicy: string },
): Parsed<StaticPolicyOptions> {
  if (!options.alignBySocket) return { ok: true, options };
  if (topologyManagerPolicy === 'single-numa-node') {
    return failWith(
      'incompatible',
      'align-by-socket takes CPUs from more than one NUMA node of a socket, which topology-manager-policy ' +
        'single-numa-node forbids; use restricted or best-effort, or set align-by-socket to false',
    );
  }
  const sockets = topology.sockets.length;
  const nodes = topology.numaNodes.length;
  if (sockets > nodes) {
    return failWith(
      'incompatible',
      `align-by-socket needs at least as many NUMA nodes as sockets, this machine has ${nodes} and ${sockets}; ` +
        'set align-by-socket to false',
    );
  }
  return { ok: true, options };
}

import { hintCpus } from '../../../src/core/hints/providers';
import { mergeHints, type ProviderHints } from '../../../src/core/hints/merge-hints';
import type { NodeMask, TopologyHint } from '../../../src/core/hints/node-masks';
import { listHints, tableOf } from '../../core/hints/as-list';
import { parseCpuList } from '../../../src/core/cpuset';
import { optionsOf } from './assignment';
import type { Runner } from './scenario';

interface HintRow {
  readonly numaNodes: readonly number[] | null;
  readonly preferred: boolean;
}

function maskOf(nodeIds: readonly number[], nodes: readonly number[]): NodeMask {
  return nodes.reduce((mask, id) => mask | (1 << nodeIds.indexOf(id)), 0);
}

function rowOf(nodeIds: readonly number[], { mask, preferred }: TopologyHint): HintRow {
  return { numaNodes: mask === null ? null : nodeIds.filter((_, i) => (mask & (1 << i)) !== 0), preferred };
}

/** Scenarios in which the kubelet gives no hints, with the hints of cpusetd. */
const DIFFERENT: Readonly<Record<string, readonly HintRow[]>> = {
  // In the kubelet, a container that requests another number of CPUs than it has fits nowhere. Here it keeps its CPUs.
  'hints-010': [{ numaNodes: [0, 1], preferred: false }],
  'hints-011': [{ numaNodes: [0, 1], preferred: true }],
};

export const runHints: Runner = ({ id, given, steps = [], expect: want }, machines) => {
  const topology = machines.get(given.topology)!;
  const nodeIds = topology.numaNodes.map(({ id }) => id);
  const { pod, container, cpus } = steps[0];
  const hints = hintCpus({
    topology,
    options: optionsOf(given.options),
    count: cpus,
    available: parseCpuList(given.state.defaultCpuSet).minus(parseCpuList(given.reserved)),
    // as in the policy, a container may reuse its own CPUs
    reusable: parseCpuList(given.reusable).union(parseCpuList(given.state.assignments[pod]?.[container] ?? '')),
  });
  const byNodes = (a: HintRow, b: HintRow) => String(a.numaNodes).localeCompare(String(b.numaNodes));
  const rows = hints === null ? null : listHints(hints).map((hint) => rowOf(nodeIds, hint));
  if (id in DIFFERENT) expect(want.hints).toEqual([]);
  const wanted: readonly HintRow[] | null = DIFFERENT[id] ?? want.hints;
  expect(rows?.sort(byNodes) ?? null).toEqual(wanted && [...wanted].sort(byNodes));
};

export const runMerge: Runner = ({ given, expect: want }) => {
  const nodeIds: number[] = given.numaNodes;
  const readHint = ({ numaNodes, preferred }: HintRow): TopologyHint => ({
    mask: numaNodes === null ? null : maskOf(nodeIds, numaNodes),
    preferred,
  });
  const providers: ProviderHints[] = given.providers.map((provider: Record<string, HintRow[] | null> | null) =>
    provider === null
      ? null
      : Object.fromEntries(
          Object.entries(provider).map(([name, rows]) => [name, rows && tableOf(rows.map(readHint), nodeIds.length)]),
        ),
  );
  const merged = mergeHints({
    policy: given.policy,
    nodeCount: nodeIds.length,
    providers,
    ...(given.preferClosest && { distances: given.distances }),
  });
  const admit = given.policy === 'best-effort' || given.policy === 'none' || merged.preferred;
  expect({ ...rowOf(nodeIds, merged), admit }).toEqual(want);
};

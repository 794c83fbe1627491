import type { FakeNode } from './fake-node';
import { cpusOfPod, type Pod } from './objects';
import type { PluginLog } from './plugin-log';

/** The causes of a pod left Pending although a node could take it. */
export const causes = {
  notRetried: 'not retried since the cache was flushed',
  reserved: 'reserved on every zone of the node until the fingerprints match',
  oldAmounts: 'amounts from before a pod ended, until the fingerprints match',
  unexplained: 'unexplained',
} as const;

export type Cause = (typeof causes)[keyof typeof causes];

export interface FalseRefusal {
  readonly pod: string;
  readonly node: string;
  readonly cause: Cause;
}

/**
 * The Pending pods that a node could take, by cpusetd's own answer, with the cause in the plugin's log.
 * @param released by node: the position in the log when a pod last released its CPUs there
 */
export async function findFalseRefusals(
  pending: readonly Pod[],
  nodes: readonly FakeNode[],
  log: PluginLog,
  released: ReadonlyMap<string, number>,
): Promise<FalseRefusal[]> {
  const found: FalseRefusal[] = [];
  const counts = [...new Set(pending.map(cpusOfPod))];
  const fitting = new Map<FakeNode, Set<number>>();
  for (const node of nodes) {
    const fit = new Set<number>();
    for (const cpus of counts) if (await node.fits(cpus)) fit.add(cpus);
    fitting.set(node, fit);
  }
  for (const pod of pending) {
    const { name } = pod.metadata;
    for (const node of nodes)
      if (fitting.get(node)!.has(cpusOfPod(pod)))
        found.push({ pod: name, node: node.name, cause: explain(log, name, node.name, released.get(node.name) ?? -1) });
  }
  return found;
}

function explain(log: PluginLog, pod: string, node: string, releasedAt: number): Cause {
  log.update();
  const flushedAt = log.last('flushed', node);
  if (log.last('refused', pod) < flushedAt) return causes.notRetried;
  if (log.last('reserved', node) > flushedAt) return causes.reserved;
  return releasedAt > flushedAt ? causes.oldAmounts : causes.unexplained;
}

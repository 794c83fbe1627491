import { plural } from '../../core/text';
import type { KubeClient } from '../../kube';
import { compareNatural, listPublishing } from '../cluster/read-cluster';
import type { DaemonOptions } from '../options';
import { checkName } from '../pod-name';
import { listSome } from '../print';
import { askAll, Daemons } from './daemons';

export interface NodesAsked<T> {
  readonly answers: readonly T[];
  /** A sentence for each daemon that did not answer, and one for the nodes that have none. */
  readonly failures: readonly string[];
}

/**
 * Asks the daemon of this node, or of every node on which cpusetd runs or did: a node with the condition and without a
 * daemon has pinned containers too, and nobody there reports them.
 */
export async function askNodes<T>(
  { client, options }: { readonly client: KubeClient; readonly options: DaemonOptions & { readonly node?: string } },
  ask: (node: string, daemons: Daemons) => Promise<T>,
): Promise<NodesAsked<T>> {
  const { node, daemonNamespace } = options;
  const daemons = new Daemons(client, options);
  if (node !== undefined) return askAll([checkName(node, 'node')], (name) => ask(name, daemons));
  const [daemonOf, publishing] = await Promise.all([daemons.list(), listPublishing(client)]);
  const { answers, failures } = await askAll([...daemonOf.keys()].sort(compareNatural), (name) => ask(name, daemons));
  const silent = publishing.filter((name) => !daemonOf.has(name)).sort(compareNatural);
  if (silent.length > 0)
    failures.push(
      `${plural(silent.length, 'node')} could not be asked, without a pod of cpusetd in namespace ${daemonNamespace}: ${listSome(silent)}`,
    );
  else if (daemonOf.size === 0) failures.push(`no node has a pod of cpusetd in namespace ${daemonNamespace}`);
  return { answers, failures };
}

/** The sentence that there is nothing, of those who have answered: nothing is known of the others. */
export function describeNone(nothing: string, { answers, failures }: NodesAsked<unknown>): string {
  if (failures.length === 0) return `${nothing}.`;
  return answers.length === 0 ? 'No node has answered.' : `${nothing} on the nodes that have answered.`;
}

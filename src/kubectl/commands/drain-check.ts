import type { Command } from 'commander';
import type { ExitStatus } from '../../cli/context';
import { plural } from '../../core/text';
import { addClusterOptions, connect, createFormatOption, type ClusterOptions, type Format } from '../options';
import { checkName } from '../pod-name';
import { listSome, print } from '../print';
import type { PluginContext } from '../context';
import type { ClusterPod } from '../cluster/read-cluster';
import { chooseNodes } from './nodes';

/** `kubectl cpuset drain-check`: whether the pinned pods of a node would find CPUs elsewhere. */
export function addDrainCheckCommand(
  program: Command,
  context: PluginContext,
  exit: (status: ExitStatus) => void,
): void {
  const command = program
    .command('drain-check')
    .description(
      'tell for each pinned pod of a node if another node could take it, and which budget is in the way (exit 1 when one could not go)',
    )
    .argument('<node>')
    .addOption(createFormatOption(['table', 'wide', 'json', 'yaml']));
  addClusterOptions(command).action(async (name: string, options: ClusterOptions & { output: Format }) => {
    const client = connect(options, context);
    const cluster = await import('../cluster/read-cluster');
    const { controllerOf } = await import('../cluster/pod-state');
    const { judgePod, wishesOf } = await import('../cluster/judge-node');
    const { findBlockingBudgets } = await import('../cluster/budgets');
    const nodes = await cluster.readNodes(client, 'forPods');
    const [node] = chooseNodes(nodes, [checkName(name, 'node')]);
    const [pods, loads, budgets] = await Promise.all([
      cluster.readPodsOf(client, name),
      cluster.readLoads(client),
      cluster.readBudgets(client),
    ]);
    const judging = { loads, nowMs: Date.now() };
    const pinned = pods.filter((pod) => wishesOf(pod, node!).length > 0 && !staysOn(pod));
    const moving = pinned.filter(({ object }) => !object.isBeingDeleted);
    const leaving = pinned.length - moving.length;
    const judged = moving.map((pod) => {
      const { namespace, name: podName } = pod.place.spec;
      const others = nodes.filter((other) => other.name !== name);
      const obstacles = others.map((other) => ({ node: other.name, because: judgePod(pod, other, judging) }));
      const fitting = obstacles.filter(({ because }) => because.length === 0).map((each) => each.node);
      const blocking = findBlockingBudgets(pod, budgets).map((budget) => budget.name);
      const isBare = controllerOf(pod.object) === undefined;
      return { pod: `${namespace}/${podName}`, wishes: wishesOf(pod, node!), fitting, blocking, isBare, obstacles };
    });
    const isFree = ({ fitting, blocking, isBare }: (typeof judged)[number]): boolean =>
      fitting.length > 0 && blocking.length === 0 && !isBare;
    await print(context, options.output, {
      headers: ['POD', 'CPUS', 'GOES', 'NODES', 'BECAUSE'],
      rows: judged.map((each) => [
        each.pod,
        String(each.wishes.reduce((sum, { count }) => sum + count, 0)),
        isFree(each) ? 'yes' : 'no',
        listSome(each.fitting, 2),
        [
          ...(each.isBare ? ['it has no controller: kubectl drain refuses it, and nothing makes it again'] : []),
          ...each.blocking.map((budget) => `budget ${budget} allows no disruption now`),
          ...(each.fitting.length === 0 ? [describeObstacles(each.obstacles)] : []),
        ].join('; '),
      ]),
      title: `${plural(judged.length, 'pinned pod')} would have to go${leaving > 0 ? `, ${leaving} more go already` : ''}. Each is looked at by itself, as the cluster is now.`,
      empty: 'No pod with CPUs of its own would have to go.',
      data: {
        node: name,
        pods: judged.map(({ obstacles, ...each }) => ({
          ...each,
          goes: isFree({ ...each, obstacles }),
          ...(each.fitting.length === 0 && { obstacles }),
        })),
      },
    });
    exit(judged.every(isFree) ? 0 : 1);

    /** A drain leaves pods of DaemonSets and of the node itself. */
    function staysOn({ object }: ClusterPod): boolean {
      return ['DaemonSet', 'Node'].includes(controllerOf(object) ?? '');
    }
  });
}

/** The obstacles of most nodes first, with the number of nodes that have each. */
function describeObstacles(obstacles: readonly { readonly because: readonly string[] }[]): string {
  if (obstacles.length === 0) return 'there is no other node';
  const counts = new Map<string, number>();
  for (const { because } of obstacles) for (const text of because) counts.set(text, (counts.get(text) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a).map(([text, n]) => `${plural(n, 'node')}: ${text}`);
  return listSome(sorted, 3, '; ');
}

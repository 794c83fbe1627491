import type { Command } from 'commander';
import type { ExitStatus } from '../../cli/context';
import { peakOfPod } from '../../core/model/pod-cpus';
import { plural } from '../../core/text';
import {
  addClusterOptions,
  connect,
  createFormatOption,
  createResourcesOption,
  type ClusterOptions,
  type Format,
} from '../options';
import { checkName } from '../pod-name';
import { listSome, print } from '../print';
import type { PluginContext } from '../context';
import type { ClusterPod } from '../cluster/read-cluster';
import { chooseNodes } from './nodes';

/** Most nodes that are named for a pod. */
const MOST_NAMED = 2;

interface Fitting {
  /** Names of nodes that could take the pod. */
  readonly fitting: readonly string[];
  readonly warnings: readonly { readonly node: string; readonly because: readonly string[] }[];
}

interface DrainCheckOptions extends ClusterOptions {
  readonly output: Format;
  readonly topologyAwareResources: readonly string[];
}

/** `kubectl cpuset drain-check`: whether the pinned pods of a node would find CPUs elsewhere. */
export function addDrainCheckCommand(
  program: Command,
  context: PluginContext,
  exit: (status: ExitStatus) => void,
): void {
  const command = program
    .command('drain-check')
    .description(
      'show for each pinned pod of a node if another node could take it, and which budget is in the way (exit 1 when one could not go)',
    )
    .argument('<node>')
    .addOption(createResourcesOption())
    .addOption(createFormatOption());
  addClusterOptions(command).action(async (name: string, options: DrainCheckOptions) => {
    const client = connect(options, context);
    const cluster = await import('../cluster/read-cluster');
    const { controllerOf } = await import('../cluster/pod-state');
    const { judgePod, wishesOf } = await import('../cluster/judge-node');
    const { findBlockingBudgets } = await import('../cluster/budgets');
    const nodes = await cluster.readNodes(client, 'forPods');
    const [node] = chooseNodes(nodes, [checkName(name, 'node')]);
    const [objects, loads, budgets] = await Promise.all([
      cluster.readPodsOf(client, name),
      cluster.readLoads(client),
      cluster.readBudgets(client),
    ]);
    const pods = objects.map((object) => cluster.toClusterPod(object, options.topologyAwareResources));
    const judging = { loads, nowMs: Date.now() };
    const pinned = pods.filter((pod) => wishesOf(pod, node!).length > 0 && !staysOn(pod));
    const moving = pinned.filter(({ object }) => !object.isBeingDeleted);
    const leaving = pinned.length - moving.length;
    const judged = moving.map((pod) => {
      const { namespace, name: podName } = pod.place.spec;
      const others = nodes.filter((other) => other.name !== name);
      const answers = others.map((other) => ({ node: other.name, ...judgePod(pod, other, judging) }));
      // Nodes without a warning come first.
      const fits = answers
        .filter((answer) => answer.obstacles.length === 0)
        .sort((a, b) => a.warnings.length - b.warnings.length);
      const blocking = findBlockingBudgets(pod, budgets).map((budget) => budget.name);
      const isBare = controllerOf(pod.object) === undefined;
      const wishes = wishesOf(pod, node!);
      return {
        pod: `${namespace}/${podName}`,
        wishes,
        blocking,
        isBare,
        cpus: peakOfPod(wishes, ({ count }) => count),
        fitting: fits.map((each) => each.node),
        warnings: fits.flatMap(({ node: name, warnings: because }) =>
          because.length > 0 ? [{ node: name, because }] : [],
        ),
        obstacles: answers.map(({ node: name, obstacles: because }) => ({ node: name, because })),
      };
    });
    const isFree = ({ fitting, blocking, isBare }: (typeof judged)[number]): boolean =>
      fitting.length > 0 && blocking.length === 0 && !isBare;
    await print(context, options.output, {
      headers: ['POD', 'CPUS', 'GOES', 'NODES', 'BECAUSE'],
      rows: judged.map((each) => [
        each.pod,
        String(each.cpus),
        isFree(each) ? 'yes' : 'no',
        listSome(each.fitting, MOST_NAMED),
        [
          ...(each.isBare ? ['it has no controller: kubectl drain refuses it, and nothing makes it again'] : []),
          ...each.blocking.map((budget) => `budget ${budget} allows no disruption now`),
          ...(each.fitting.length === 0 ? [describeObstacles(each.obstacles)] : []),
          ...warningsOf(each),
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

/** The warnings of the nodes that are named. */
function warningsOf({ fitting, warnings }: Fitting): string[] {
  const named = warnings.filter(({ node }) => fitting.indexOf(node) < MOST_NAMED);
  return named.flatMap(({ node, because }) => because.map((text) => `warning: ${node}: ${text}`));
}

/** The obstacles of most nodes first, with the number of nodes that have each. */
function describeObstacles(obstacles: readonly { readonly because: readonly string[] }[]): string {
  if (obstacles.length === 0) return 'there is no other node';
  const counts = new Map<string, number>();
  for (const { because } of obstacles) for (const text of because) counts.set(text, (counts.get(text) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a).map(([text, n]) => `${plural(n, 'node')}: ${text}`);
  return listSome(sorted, 3, '; ');
}

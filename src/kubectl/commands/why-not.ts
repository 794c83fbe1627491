import type { Command } from 'commander';
import type { ExitStatus } from '../../cli/context';
import type { ContainerNeed } from '../../core/fit';
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
import { parsePodName } from '../pod-name';
import { print } from '../print';
import type { PluginContext } from '../context';
import type { ClusterPod } from '../cluster/read-cluster';
import { showFits } from './nodes';

interface WhyNotOptions extends ClusterOptions {
  readonly output: Format;
  readonly namespace?: string;
  readonly topologyAwareResources: readonly string[];
}

/** `kubectl cpuset why-not`: what is in the way of a pod, node by node. */
export function addWhyNotCommand(program: Command, context: PluginContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('why-not')
    .description(
      'show what is in the way of a pod that is pending or was refused, node by node (exit 1 when it fits nowhere)',
    )
    .argument('<pod>', 'namespace/name, or a name')
    .option('-n, --namespace <name>', 'the namespace of the pod, instead of that of the context')
    .addOption(createResourcesOption())
    .addOption(createFormatOption());
  addClusterOptions(command).action(async (text: string, options: WhyNotOptions) => {
    const client = connect(options, context);
    const { namespace, name } = await parsePodName(text, options.namespace, client);
    const { readLoads, readNodes, readPodNamed, toClusterPod } = await import('../cluster/read-cluster');
    const { findPodObstacles } = await import('../cluster/pod-state');
    const { judgePod, wishesOf } = await import('../cluster/judge-node');
    const pod = toClusterPod(await readPodNamed(client, namespace, name), options.topologyAwareResources);
    const [nodes, loads] = await Promise.all([readNodes(client, 'forPods'), readLoads(client)]);
    const nowMs = Date.now();
    const everywhere = findPodObstacles(pod.object, nowMs);
    const judged = nodes.map((node) => {
      if (node.name === pod.object.node)
        return {
          node,
          obstacles: [`it is bound here: kubectl cpuset explain ${namespace}/${name} has more`],
          warnings: [],
        };
      const { obstacles, warnings } = judgePod(pod, node, { loads, nowMs });
      return { node, obstacles: [...everywhere, ...obstacles], warnings };
    });
    const title = `${describeWish(
      pod,
      nodes.map((node) => wishesOf(pod, node)),
    )}.${pod.object.node === '' ? '' : ` It is bound to ${pod.object.node}; the others are for another try.`}`;
    await print(context, options.output, showFits(judged, title));
    exit(judged.some(({ obstacles }) => obstacles.length === 0) ? 0 : 1);
  });
}

/** Nodes may have different policies: the most that one of them would give counts. */
function describeWish({ place }: ClusterPod, ofNodes: readonly (readonly ContainerNeed[])[]): string {
  const { namespace, name } = place.spec;
  const widest = ofNodes.reduce((most, wishes) => (peakOf(wishes) > peakOf(most) ? wishes : most), []);
  if (widest.length === 0) return `${namespace}/${name} asks for no CPUs of its own`;
  const each = widest.map((wish) => `${wish.name} ${plural(wish.count, 'CPU')}`).join(', ');
  return `${namespace}/${name} asks for CPUs of its own: ${each}`;
}

const peakOf = (wishes: readonly ContainerNeed[]): number => peakOfPod(wishes, ({ count }) => count);

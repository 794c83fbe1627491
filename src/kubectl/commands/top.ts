import type { Command } from 'commander';
import { addClusterOptions, connect, createFormatOption, type ClusterOptions, type Format } from '../options';
import { print, type Printed } from '../print';
import type { PublishedNode } from '../cluster/published-node';
import type { PluginContext } from '../context';
import { chooseNodes, countCpus } from './nodes';

/** `kubectl cpuset top`: the nodes first of whose free CPUs aligned requests reach the smallest part. */
export function addTopCommand(program: Command, context: PluginContext): void {
  const command = program
    .command('top')
    .description('show the free CPUs of each node that no aligned request reaches, the largest part first')
    .argument('[node...]', 'only these')
    .addOption(createFormatOption(['table', 'json', 'yaml']));
  addClusterOptions(command).action(async (names: readonly string[], options: ClusterOptions & { output: Format }) => {
    const { readNodes } = await import('../cluster/read-cluster');
    const nodes = chooseNodes(await readNodes(connect(options, context)), names);
    await print(context, options.output, showUnaligned(nodes));
  });
}

/**
 * The part of the free CPUs that no request aligned to one NUMA node reaches, 0 to 1: 0 when the largest one gets all
 * that is free, or all that a NUMA node has. Undefined when nothing is free, or the node does not say.
 */
export function unalignedPartOf(node: PublishedNode): number | undefined {
  const cpus = countCpus(node);
  const zones = node.topology?.zones ?? [];
  if (!cpus?.aligned || cpus.available === 0) return undefined;
  const best = Math.min(cpus.available, Math.max(...zones.map(({ allocatable }) => allocatable)));
  return best === 0 ? undefined : Math.max(0, 1 - cpus.aligned.numa_node / best);
}

function showUnaligned(nodes: readonly PublishedNode[]): Printed {
  const sorted = nodes
    .map((node) => ({ node, unaligned: unalignedPartOf(node) }))
    .sort((a, b) => (b.unaligned ?? -1) - (a.unaligned ?? -1));
  return {
    headers: ['NODE', 'CPUS', 'FREE', 'CORES', 'NODES', 'IN CORES', 'IN CACHE', 'IN NODE', 'UNALIGNED'],
    rows: sorted.map(({ node, unaligned }) => {
      const [cpus, summary] = [countCpus(node), node.topology?.summary];
      const cells = [cpus?.allocatable, cpus?.available, summary?.freeCores, summary?.freeNodes];
      const aligned = [cpus?.aligned?.physical_cpu, cpus?.aligned?.uncore_cache, cpus?.aligned?.numa_node];
      return [
        node.name,
        ...[...cells, ...aligned].map((cell) => String(cell ?? '')),
        unaligned === undefined ? '' : `${Math.round(unaligned * 100)} %`,
      ];
    }),
    empty: 'No nodes.',
    data: {
      nodes: sorted.map(({ node, unaligned }) => ({
        name: node.name,
        cpus: countCpus(node),
        ...(node.topology?.summary && {
          freeCores: node.topology.summary.freeCores,
          freeNodes: node.topology.summary.freeNodes,
        }),
        ...(unaligned !== undefined && { unaligned }),
      })),
    },
  };
}

import { Option, type Command } from 'commander';
import type { ExitStatus } from '../../cli/context';
import { UsageError } from '../../cli/context';
import { formatTime, plural } from '../../core/text';
import { sum } from '../../core/sum';
import type { AlignmentBoundary } from '../../core/topology';
import { PUBLISHED_VERDICTS } from '../../core/verdict/published-verdicts';
import { CpusetdError } from '../../core/errors';
import type { NodeSummary } from '../../kube';
import {
  addClusterOptions,
  connect,
  createCpusOption,
  createFormatOption,
  type ClusterOptions,
  type Format,
} from '../options';
import { print, type Printed } from '../print';
import type { Judgement } from '../cluster/judge-node';
import { stateOf, type PublishedNode } from '../cluster/published-node';
import type { PluginContext } from '../context';

interface NodesOptions extends ClusterOptions {
  readonly output: Format;
  readonly cpus?: number;
  readonly aligned?: Boundary;
}

const BOUNDARIES = { core: 'physical_cpu', cache: 'uncore_cache', node: 'numa_node' } as const;
type Boundary = keyof typeof BOUNDARIES;

/** `kubectl cpuset nodes`: all nodes, from what they publish; with `--cpus` whether a new container would fit. */
export function addNodesCommand(program: Command, context: PluginContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('nodes')
    .description('show all nodes: CPUs, what is free, the largest aligned request, broken promises, alarms, gaps')
    .argument('[node...]', 'only these')
    .addOption(createFormatOption())
    .addOption(createCpusOption())
    .addOption(
      new Option('--aligned <to>', 'with --cpus: aligned to whole cores, one uncore cache, one NUMA node').choices(
        Object.keys(BOUNDARIES),
      ),
    );
  addClusterOptions(command).action(async (names: readonly string[], options: NodesOptions) => {
    const { output, cpus, aligned } = options;
    if (aligned !== undefined && cpus === undefined)
      throw new UsageError('--aligned: is of a number of CPUs; add --cpus');
    const { readNodes } = await import('../cluster/read-cluster');
    const nodes = chooseNodes(await readNodes(connect(options, context)), names);
    const nowMs = Date.now();
    if (cpus === undefined) {
      await print(context, output, showNodes(nodes, output === 'wide', nowMs));
      return;
    }
    const { judgeCount } = await import('../cluster/judge-node');
    const boundary = aligned && BOUNDARIES[aligned];
    const judged = nodes.map((node) => {
      return { node, ...judgeCount(node, { cpus, nowMs, ...(boundary && { aligned: boundary }) }) };
    });
    await print(context, output, showFits(judged));
    exit(judged.some(({ obstacles }) => obstacles.length === 0) ? 0 : 1);
  });
}

/** The nodes of these names; all without names. Throws NOT_FOUND. */
export function chooseNodes(nodes: readonly PublishedNode[], names: readonly string[]): readonly PublishedNode[] {
  const unknown = names.find((name) => !nodes.some((node) => node.name === name));
  if (unknown !== undefined) throw new CpusetdError('NOT_FOUND', `there is no node ${unknown}`);
  return names.length === 0 ? nodes : nodes.filter(({ name }) => names.includes(name));
}

/** The numbers of a node; undefined where it publishes no topology. */
export function countCpus({ topology }: PublishedNode) {
  if (!topology) return undefined;
  const { zones, summary } = topology;
  return {
    capacity: sum(zones.map(({ capacity }) => capacity)),
    allocatable: sum(zones.map(({ allocatable }) => allocatable)),
    available: sum(zones.map(({ available }) => available)),
    ...(summary && { aligned: summary.aligned }),
  };
}

type Column = readonly [title: string, cell: (node: PublishedNode) => string | number | undefined, wide?: 'wide'];

function showNodes(nodes: readonly PublishedNode[], isWide: boolean, nowMs: number): Printed {
  const fromSummary = (read: (summary: NodeSummary) => string | number) => (node: PublishedNode) => {
    const { summary } = node.topology ?? {};
    return summary && read(summary);
  };
  const alignedTo = (boundary: AlignmentBoundary) => fromSummary(({ aligned }) => aligned[boundary]);
  const columns: readonly Column[] = [
    ['NODE', ({ name }) => name],
    ['STATE', (node) => stateOf(node, nowMs).kind],
    ['POLICY', fromSummary(({ policy }) => policy), 'wide'],
    ['CPUS', (node) => countCpus(node)?.allocatable],
    ['FREE', (node) => countCpus(node)?.available],
    ['BY ZONE', ({ topology }) => topology?.zones.map(({ available }) => available).join('+'), 'wide'],
    ['IN CORES', alignedTo('physical_cpu'), 'wide'],
    ['IN CACHE', alignedTo('uncore_cache'), 'wide'],
    ['ALIGNED', alignedTo('numa_node')],
    ['PINNED', fromSummary(({ pinned }) => pinned)],
    ['VERDICTS', fromSummary(describeVerdicts)],
    ['ALARMS', fromSummary(({ alarms }) => alarms.join(', ')), 'wide'],
    ['GAP', fromSummary(describeGap), 'wide'],
    ['BECAUSE', (node) => (isWide ? stateOf(node, nowMs).because : describeTrouble(node, nowMs))],
  ];
  const shown = columns.filter(([, , wide]) => isWide || wide === undefined);
  return {
    headers: shown.map(([title]) => title),
    rows: nodes.map((node) => shown.map(([, cell]) => String(cell(node) ?? ''))),
    empty: 'No nodes.',
    data: {
      nodes: nodes.map((node) => {
        const { name, topology, isCordoned } = node;
        const { kind, because } = stateOf(node, nowMs);
        return {
          name,
          state: kind,
          because,
          cordoned: isCordoned,
          ...(topology && { cpus: countCpus(node), zones: topology.zones }),
          ...(topology?.summary && { summary: topology.summary }),
        };
      }),
    },
  };
}

/** The verdicts that need a look; else all promises are kept. */
function describeVerdicts({ verdicts }: NodeSummary): string {
  const counts = PUBLISHED_VERDICTS.flatMap((kind) => (verdicts[kind] ? [`${verdicts[kind]} ${kind}`] : []));
  return counts.length === 0 ? 'kept' : counts.join(', ');
}

function describeGap({ gap }: NodeSummary): string {
  if (!gap) return '';
  const missed = plural(gap.containers, 'container');
  return gap.to === undefined ? `since ${formatTime(gap.from)}: ${missed}` : `${missed}, over ${formatTime(gap.to)}`;
}

/**
 * All that an operator should know of a node, in the last column: in a table of usual width there is room for no more.
 */
function describeTrouble(node: PublishedNode, nowMs: number): string {
  const { summary } = node.topology ?? {};
  const gap = summary && describeGap(summary);
  return [
    ...(summary && summary.alarms.length > 0 ? [`alarms: ${summary.alarms.join(', ')}`] : []),
    ...(gap ? [`gap: ${gap}`] : []),
    stateOf(node, nowMs).because,
  ]
    .filter((text) => text !== '')
    .join('; ');
}

interface JudgedNode extends Judgement {
  readonly node: PublishedNode;
}

/** Shows for each node if the request fits, its obstacles and the warnings. */
export function showFits(judged: readonly JudgedNode[], title?: string): Printed {
  return {
    headers: ['NODE', 'FITS', 'FREE', 'ALIGNED', 'BECAUSE'],
    rows: judged.map(({ node, obstacles, warnings }) => {
      const cpus = countCpus(node);
      return [
        node.name,
        obstacles.length === 0 ? 'yes' : 'no',
        String(cpus?.available ?? ''),
        String(cpus?.aligned?.numa_node ?? ''),
        [...obstacles, ...warnings.map((text) => `warning: ${text}`)].join('; '),
      ];
    }),
    empty: 'No nodes.',
    ...(title !== undefined && { title }),
    data: {
      nodes: judged.map(({ node, obstacles, warnings }) => {
        return { name: node.name, fits: obstacles.length === 0, obstacles, warnings };
      }),
    },
  };
}

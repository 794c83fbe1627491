import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { PodInfo } from '../../src/core/model/events';
import { NO_OPTIONS, rulesOf, type Settings } from '../../src/core/model/settings';
import { parseStaticPolicyOptions } from '../../src/core/options/static-policy-options';
import { parseTopologyManagerOptions } from '../../src/core/options/topology-manager-options';
import { resourcesFor, SimulatedNode } from '../simulation/simulated-node';
import { draw, MACHINES } from './machines';

/** One way to have the node, and what becomes of the containers then. */
export interface Case {
  readonly label: string;
  /** Names of the options of the static policy that are on. */
  readonly options?: readonly string[];
  readonly topologyManager?: {
    readonly policy: 'none' | 'best-effort' | 'restricted' | 'single-numa-node';
    readonly scope?: 'container' | 'pod';
  };
  readonly memoryNodes?: 'follow';
  readonly minSharedCpus?: number;
  /** CPUs of each container; `refused` where it gets none. */
  readonly expected: readonly string[];
  /** False for a case that the page shows in another example. */
  readonly isShown?: false;
}

/** A machine, what is taken on it, and the containers of one pod that come one after another. */
export interface Example {
  readonly machine: keyof typeof MACHINES;
  readonly reserved: string;
  /** CPUs of other pods. */
  readonly others?: string;
  readonly asks: readonly Ask[];
  /** True if the page shows the shared pool. */
  readonly showsPool?: boolean;
  readonly cases: readonly Case[];
}

export interface Ask {
  readonly name: string;
  readonly cpus: number;
  readonly memoryGib?: number;
  /** It exits before the next one comes. */
  readonly exits?: boolean;
}

interface Played {
  readonly outcomes: readonly { readonly ask: Ask; readonly cpus?: CpuSet; readonly because: string }[];
  readonly idle: CpuSet;
  readonly sharedPool: CpuSet;
}

/** Plays a case through the whole path of a creation: inference, policy, allocation. */
export function play(example: Example, chosen: Case): Played {
  const { topology } = MACHINES[example.machine];
  const settings = toSettings(example, chosen);
  const node = new SimulatedNode(topology, settings);
  node.start();
  const { model } = node.daemon!;
  const others = parseCpuList(example.others ?? '');
  if (!others.isEmpty) model.apply({ kind: 'put-assignment', assignment: foreignAssignment(others, settings) });

  const sum = example.asks.reduce((total, { cpus }) => total + cpus, 0);
  const pod: PodInfo = { ...node.addPod(true), podResources: { shares: sum * 1024 } };
  const outcomes = example.asks.map((ask) => {
    const id = `c-${ask.name}`;
    const memory = ask.memoryGib === undefined ? {} : { memoryLimitBytes: ask.memoryGib * 2 ** 30 };
    const answer = node.send({
      kind: 'create-container',
      pod,
      container: {
        id,
        sandboxId: pod.sandboxId,
        name: ask.name,
        phase: 'creating',
        cgroupsPath: `${pod.cgroupParent}/${id}`,
        resources: { ...resourcesFor(ask.cpus), ...memory },
      },
    })!;
    if (answer.kind === 'refuse') return { ask, because: answer.message };
    const { because, promise } = model.containers.get(id)!;
    if (ask.exits) {
      node.send({ kind: 'container-started', pod, container: { ...model.containers.get(id)!, phase: 'running' } });
      node.send({ kind: 'container-stopped', containerId: id });
    }
    return { ask, cpus: promise!.cpus, because };
  });
  const idle = model.assignmentsOf(pod.uid).filter(({ containerId }) => containerId === null);
  return { outcomes, idle: CpuSet.unionOf(idle.map(({ cpus }) => cpus)), sharedPool: model.sharedPool };
}

/** The CPUs of each outcome as text, or `refused`. */
export function showOutcomes({ outcomes }: Played): string[] {
  return outcomes.map(({ cpus }) => cpus?.toString() ?? 'refused');
}

/** The example as the page has it. */
export function showExample(example: Example): string {
  const machine = MACHINES[example.machine];
  const asks = example.asks.map(
    ({ name, cpus, memoryGib }) => `${name} asks for ${cpus}${memoryGib === undefined ? '' : ` and ${memoryGib} GiB`}`,
  );
  let drawn: string | undefined;
  const blocks = example.cases
    .filter(({ isShown = true }) => isShown)
    .map((chosen) => {
      const played = play(example, chosen);
      const given = played.outcomes.filter(({ ask }) => !ask.exits).map(({ cpus }) => cpus ?? CpuSet.empty);
      const lines = draw(machine, {
        given,
        idle: played.idle,
        reserved: parseCpuList(example.reserved),
        others: parseCpuList(example.others ?? ''),
      });
      // A picture that shows nothing new is left out: the one before, or a machine on which nothing was given.
      const isNew =
        drawn !== lines.join() && (given.some((cpus) => !cpus.isEmpty) || (drawn === undefined && example.others));
      const picture = isNew ? lines : [];
      drawn = isNew ? lines.join() : drawn;
      const results = played.outcomes.flatMap(({ ask: { name }, cpus, because }) =>
        wrap(`${name} ${cpus ? `gets ${cpus.toString()}` : 'is refused'}: ${because}`),
      );
      const pool = example.showsPool ? [`shared pool: ${played.sharedPool.toString()}`] : [];
      return [`-- ${chosen.label}`, ...picture, ...results, ...pool].join('\n');
    });
  return [asks.join(', then '), ...blocks].join('\n\n');
}

function toSettings({ reserved }: Example, chosen: Case): Settings {
  const options = parseStaticPolicyOptions(new Map((chosen.options ?? []).map((name) => [name, 'true'])));
  const ofTopologyManager = parseTopologyManagerOptions(new Map());
  if (!options.ok || !ofTopologyManager.ok) throw new Error('an example with impossible options');
  const { policy = 'none', scope = 'container' } = chosen.topologyManager ?? {};
  return {
    cpuManagerPolicy: 'static',
    options: { ...NO_OPTIONS, ...options.options },
    reserved: parseCpuList(reserved),
    minSharedCpus: chosen.minSharedCpus ?? 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: true,
    topologyManager: { policy, scope, options: ofTopologyManager.options },
    memoryNodes: chosen.memoryNodes ?? 'off',
  };
}

function foreignAssignment(cpus: CpuSet, settings: Settings) {
  return {
    podUid: 'uid-of-others',
    podNamespace: 'ns',
    podName: 'others',
    containerName: 'others',
    kind: 'static',
    cpus,
    mems: CpuSet.empty,
    requested: cpus.size,
    containerId: 'c-of-others',
    quotaLifted: true,
    rules: rulesOf(settings),
    because: 'it was there first',
    since: '2026-01-01T00:00:00Z',
  } as const;
}

/** Breaks a sentence into lines of at most 118 characters, the later ones moved in. */
function wrap(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last !== '' && last.length + word.length >= 118) lines.push(`  ${word}`);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

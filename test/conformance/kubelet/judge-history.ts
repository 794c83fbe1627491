import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Settings } from '../../../src/core/model/settings';
import { hasUnlikeCores, keepWholeCores } from '../../../src/core/topology';
import { NEVER_ANSWERED } from './ask-kubelet';
import type { HistoryNode, Outcome } from './history-node';
import { judgeSet, type SetDifference } from './judge-set';
import type { Kind } from './kinds';
import type { Machine } from './machines';
import { containersOf, isInit } from './pods';
import type { Admission, Failure, KubeletQuestion, PodQuestion } from './questions';
import type { Kubelets } from './single-decisions';

export interface Rules {
  readonly question: KubeletQuestion;
  readonly settings: Settings;
}

export interface Sides {
  readonly kubelets: Kubelets;
  readonly machine: Machine;
  readonly node: HistoryNode;
  rules: Rules;
  /** The CPUs that the kubelet gave to each pod that it has. */
  readonly given: Map<string, Admission>;
  readonly pods: Map<string, PodQuestion>;
  readonly log: unknown[];
  /** The kubelet has given CPUs twice: nothing can be compared from then on. */
  isOver: boolean;
  /** The kubelet was asked for the set of a whole pod. */
  hadPodAsWhole: boolean;
}

/** The kubelet gave CPUs that are reserved, or that another container has. */
export function givesTwice(sides: Sides): boolean {
  const { given, pods, rules } = sides;
  let taken = rules.settings.reserved;
  for (const [uid, { cpus }] of given) {
    const pod = pods.get(uid)!;
    const ofPod = CpuSet.unionOf(Object.values(cpus).map(parseCpuList));
    if (ofPod.overlaps(taken)) return true;
    const sets = listRunning(pod)
      .flatMap(({ name }) => cpus[name] ?? [])
      .map(parseCpuList);
    const together = sets.reduce((sum, { size }) => sum + size, 0);
    const isApart = pod.requests === undefined || knowsPodLevel(sides);
    if (isApart && together !== CpuSet.unionOf(sets).size) return true;
    taken = taken.union(ofPod);
  }
  return false;
}

export const listRunning = (pod: PodQuestion) => containersOf(pod).filter(({ name }) => !isInit(pod, name));

/** A kubelet counts resources of a pod as a whole as cpusetd does: with the feature gate, and the scope container. */
const knowsPodLevel = ({ rules: { question } }: Sides): boolean =>
  question.podLevel && question.topologyManager.scope === 'container';

export async function judgeAdmission(sides: Sides, pod: PodQuestion, answer: Admission): Promise<Kind | 'unknown'> {
  const { settings } = sides.rules;
  if (pod.requests && !knowsPodLevel(sides)) return 'pod-level';
  if (answer.admitted && settings.options.strictCpuReservation && answer.default === '') return 'empty-pool';
  if (answer.admitted && givesTwice(sides)) return 'busy-cpus';
  if (settings.options.fullPcpusOnly && hasUnlikeCores(sides.machine.topology)) return 'unlike-cores';
  if (answer.admitted) return judgeRefusal(sides, pod, answer);
  if (hasPlainInit(pod)) return 'init-reuse';
  if (settings.memoryNodes !== 'follow') return 'unknown';
  const isAboutMemory = /memory/i.test(answer.message ?? '') || (await isDecidedByMemory(sides, answer));
  return isAboutMemory ? 'memory-refused' : 'unknown';
}

/** The kind of a refusal by cpusetd. */
function judgeRefusal(
  { machine: { topology }, rules }: Sides,
  pod: PodQuestion,
  { cpus }: Admission,
): Kind | 'unknown' {
  const { options, topologyManager } = rules.settings;
  const sets = Object.values(cpus).map(parseCpuList);
  const isSplit = sets.some((set) => !keepWholeCores(topology, set).equals(set));
  if (options.fullPcpusOnly && isSplit) return 'split-cores';
  return topologyManager?.scope === 'pod' && hasPlainInit(pod) ? 'asked-again' : 'unknown';
}

/**
 * Without the hints for memory, the kubelet's topology manager admits the container that it refused, or chooses other
 * nodes for one before.
 */
async function isDecidedByMemory({ kubelets, rules }: Sides, { asked, affinity }: Admission): Promise<boolean> {
  const { policy, options } = rules.question.topologyManager;
  if (policy === 'none') return false;
  const ofCpus = asked.filter(({ provider }) => provider === 'cpu');
  for (const [i, { container, hints }] of ofCpus.entries()) {
    const merged = await kubelets.real.ask({ op: 'merge', policy, options, providers: [hints] });
    if ('error' in merged) throw new Error(merged.error);
    const isRefused = i === ofCpus.length - 1;
    const chosen = affinity[container]?.nodes ?? null;
    if (merged.admit && (isRefused || String(merged.hint.nodes) !== String(chosen))) return true;
  }
  return false;
}

export const hasPlainInit = (pod: PodQuestion): boolean => pod.init.some(({ sidecar }) => sidecar !== true);

/**
 * The kubelet's memory manager knows no CPUs: without a topology manager it takes any nodes. Here all are local to the
 * CPUs, or beside such.
 */
export function judgeMemory({ machine: { topology } }: Sides, cpus: CpuSet, mems: CpuSet): Kind | 'unknown' {
  const home = CpuSet.of(topology.numaNodes.filter((node) => node.cpus.overlaps(cpus)).map(({ id }) => id));
  return home.isSubsetOf(mems) ? 'memory-nodes' : 'unknown';
}

export async function judgePlaced(
  sides: Sides,
  pod: PodQuestion,
  answer: Admission,
  outcome: Outcome,
  name: string,
): Promise<Kind | 'unknown'> {
  const { kubelets, machine, rules } = sides;
  if (pod.requests && !knowsPodLevel(sides)) return 'pod-level';
  const placed = outcome.placed.find((each) => each.name === name)!;
  const affinity = answer.affinity[name]!;
  if (hasPlainInit(pod) && givesTwice(sides)) return 'busy-cpus';
  if (hasPlainInit(pod)) return takesNoMore(sides, answer) ? 'init-reuse' : 'unknown';
  const askOn = async (nodes: readonly number[] | null, available: CpuSet): Promise<string | undefined> => {
    const count = placed.cpus?.size ?? 0;
    const asked = { op: 'allocate', available: available.toString(), count, ...(nodes && { nodes }) } as const;
    const repaired = await kubelets.repaired.ask(asked);
    return 'cpus' in repaired ? repaired.cpus : undefined;
  };
  const available = placed.free.union(placed.idle);
  const difference: SetDifference = {
    topology: machine.topology,
    options: rules.settings.options,
    available,
    count: placed.cpus?.size ?? parseCpuList(answer.cpus[name] ?? '').size,
    kubelet: answer.cpus[name],
    here: placed.cpus?.toString(),
    isUnanswered: false,
    askRepaired: (others) => askOn(affinity.nodes, others),
  };
  const kind = await judgeSet(difference);
  if (kind !== 'unknown' || rules.settings.memoryNodes !== 'follow' || !placed.cpus) return kind;
  // Memory is counted otherwise, so other nodes are chosen: on some the kubelet gives the same set.
  for (const nodes of subsetsOf(machine.topology.numaNodes.map(({ id }) => id))) {
    const kubelet = await askOn(nodes, available);
    if (kubelet === difference.here) return 'memory-hints';
    const there = { ...difference, kubelet, askRepaired: (others: CpuSet) => askOn(nodes, others) };
    if (kubelet !== undefined && (await judgeSet(there)) !== 'unknown') return 'memory-hints';
  }
  return 'unknown';
}

const subsetsOf = (ids: readonly number[]): readonly (readonly number[])[] =>
  Array.from({ length: 2 ** ids.length - 1 }, (_, mask) => ids.filter((_id, i) => ((mask + 1) & (1 << i)) !== 0));

/**
 * CPUs of init containers that have ended are used again here, or given back: the node has as many left as in the
 * kubelet, or more.
 */
const takesNoMore = ({ node }: Sides, answer: Admission): boolean =>
  node.sharedPool.size >= parseCpuList(answer.default).size;

/** A kubelet that does not start, or does not answer at all. */
export function judgeFailure({ hadPodAsWhole, rules }: Sides, { error }: Failure): Kind | 'unknown' {
  const { distributeCpusAcrossNuma, fullPcpusOnly } = rules.settings.options;
  if (error === NEVER_ANSWERED.error) return distributeCpusAcrossNuma && fullPcpusOnly ? 'never-answers' : 'unknown';
  if (error.includes('default cpuset cannot be empty')) return 'empty-pool';
  return hadPodAsWhole && error.includes("doesn't match with CPUs in state") ? 'lost-cpus' : 'unknown';
}

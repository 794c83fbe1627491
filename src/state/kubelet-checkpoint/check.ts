import { CpuSet, parseCpuList } from '../../core/cpuset';
import type { KubeletState, KubeletStateV1 } from './state';

/** The machine to which a state is compared. */
export interface KubeletMachine {
  readonly online: CpuSet;
  /** The CPUs that the kubelet reserves; absent when unknown. */
  readonly reservation?: { readonly cpus: CpuSet; readonly strict: boolean };
}

/** Policies of crane-agent that no kubelet has; its present file has `static`. */
const CRANE_POLICIES: ReadonlySet<string> = new Set(['advanced-static']);
/** The name of crane-agent's file, in the kubelet's folder. */
const CRANE_FILE = 'crane_cpu_manager_state';

/** The file is one of crane-agent's CPU manager, which has the kubelet's format and another meaning. */
export function isOfCraneAgent(fileName: string, { policyName }: Pick<KubeletState, 'policyName'>): boolean {
  return fileName === CRANE_FILE || CRANE_POLICIES.has(policyName);
}

/** CPUs and their holder. */
interface Holding {
  readonly holder: string;
  /** Sets of one pod may overlap. */
  readonly pod: string;
  readonly cpus: CpuSet;
}

/**
 * The reasons why a kubelet with the static policy would not start with this state, and why its sets can't all be kept;
 * empty when there are none. Each sentence names the holder and the CPUs, the rule and the remedy.
 */
export function checkKubeletState(state: KubeletState, machine: KubeletMachine): readonly string[] {
  const holdings: Holding[] = [];
  for (const [pod, containers] of state.entries)
    for (const [name, list] of containers)
      holdings.push({ holder: `pod ${pod} container ${name}`, pod, cpus: parseCpuList(list) });
  for (const [pod, list] of state.podEntries)
    holdings.push({ holder: `pod ${pod} as a whole`, pod, cpus: parseCpuList(list) });
  return check(state, holdings, machine);
}

/** The same for format v1, which has only ids of containers. */
export function checkKubeletStateV1(state: KubeletStateV1, machine: KubeletMachine): readonly string[] {
  const holdings = [...state.entries].map(([id, list]) => ({
    holder: `container ${id}`,
    pod: '',
    cpus: parseCpuList(list),
  }));
  return check(state, holdings, machine);
}

function check(
  { policyName, defaultCpuSet }: Pick<KubeletState, 'policyName' | 'defaultCpuSet'>,
  holdings: readonly Holding[],
  machine: KubeletMachine,
): readonly string[] {
  const pool = parseCpuList(defaultCpuSet);
  if (policyName === 'none' && holdings.length === 0) return []; // such a kubelet reads nothing else
  if (policyName !== 'static')
    return [
      `its policyName is "${policyName}", and only the static policy of a kubelet gives exclusive CPUs; name the file of such a kubelet`,
    ];
  if (pool.isEmpty && holdings.length === 0) return []; // a fresh start
  const problems: string[] = [];
  for (const part of [checkPool(pool, machine), checkMachine(pool, holdings, machine), checkHoldings(pool, holdings)])
    for (const problem of part) {
      if (problems.length === MAX_PROBLEMS) return [...problems, 'there is more of the kind'];
      problems.push(problem);
    }
  return problems;
}

/** Most problems that are reported of one file. */
const MAX_PROBLEMS = 20;

function* checkPool(pool: CpuSet, { reservation }: KubeletMachine): Generator<string> {
  if (pool.isEmpty) {
    yield `its defaultCpuSet is empty although there are entries: nothing is left for containers that share; ${REMEDY}`;
    return;
  }
  if (!reservation) return;
  const { cpus: reserved, strict } = reservation;
  const kept = reserved.intersect(pool);
  if (strict && !kept.isEmpty)
    yield `the strictly reserved CPUs ${kept.toString()} are in its defaultCpuSet ${pool.toString()}, where containers share; ${RULES_REMEDY}`;
  if (!strict && !reserved.isSubsetOf(pool))
    yield `the reserved CPUs ${reserved.minus(pool).toString()} are not in its defaultCpuSet ${pool.toString()}; ${RULES_REMEDY}`;
}

function* checkHoldings(pool: CpuSet, holdings: readonly Holding[]): Generator<string> {
  const ownerOf = new Map<number, Holding>();
  for (const holding of holdings) {
    const { holder, pod, cpus } = holding;
    const shared = cpus.intersect(pool);
    if (!shared.isEmpty)
      yield (
        `${holder}: of its CPUs ${cpus.toString()} others share ${shared.toString()}: they are in the defaultCpuSet ` +
        `${pool.toString()} too, and exclusive CPUs are in one set only; ${REMEDY}`
      );
    const rivals = new Set<Holding>();
    for (const cpu of cpus) {
      const owner = ownerOf.get(cpu);
      if (!owner) ownerOf.set(cpu, holding);
      else if (owner.pod !== pod) rivals.add(owner);
    }
    for (const rival of rivals)
      yield (
        `${holder}: its CPUs ${cpus.toString()} overlap with ${rival.cpus.toString()} of ${rival.holder}, and exclusive CPUs ` +
        `belong to one pod; ${REMEDY}`
      );
  }
}

function* checkMachine(
  pool: CpuSet,
  holdings: readonly Holding[],
  { online, reservation }: KubeletMachine,
): Generator<string> {
  const known = CpuSet.unionOf([pool, ...holdings.map(({ cpus }) => cpus)]);
  const rest = reservation?.strict === true ? reservation.cpus : CpuSet.empty;
  const gone = known.minus(online);
  if (!gone.isEmpty) {
    const whose = holdings.find(({ cpus }) => cpus.overlaps(gone))?.holder ?? 'the defaultCpuSet';
    yield (
      `${whose}: the CPUs ${gone.toString()} of the file are not online (online are ${online.toString()}); bring them ` +
      'online, or name the file of this machine'
    );
  }
  const missing = online.minus(known).minus(rest);
  if (!missing.isEmpty)
    yield (
      `the CPUs ${missing.toString()} are online and in no set of the file; where they are strictly reserved name the ` +
      'configuration of cpusetd run with --config, else let the kubelet write its file anew'
    );
}

const REMEDY =
  'delete the pod and let the kubelet write its file anew, or start cpusetd without an import: it leaves pods where they run';
const RULES_REMEDY = 'give cpusetd the reservation that the kubelet had';

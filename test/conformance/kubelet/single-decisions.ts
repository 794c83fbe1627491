import { chooseReserved } from '../../../src/core/allocation';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { hintCpus } from '../../../src/core/hints/providers';
import { optionNames, type StaticPolicyOptions, OPTIONS_BY_NAME } from '../../../src/core/model/settings';
import { checkStaticPolicyOptions, parseStaticPolicyOptions } from '../../../src/core/options/static-policy-options';
import { POLICIES, type Decision, type Snapshot } from '../../../src/core/policy';
import { allocateOnNodes } from '../../../src/core/policy/allocate-on-nodes';
import { grantOptionsOf } from '../../../src/core/policy/grant-options';
import { bareSnapshot } from '../../core/policy/bare-snapshot';
import { listHints } from '../../core/hints/as-list';
import type { Random } from '../../support/random';
import { type AskKubelet, NEVER_ANSWERED } from './ask-kubelet';
import { hasFewNodes, type Machine } from './machines';
import type { AllocateQuestion, PolicyQuestion, ShownHint } from './questions';
import type { Tally } from './tally';
import { judgeHints, judgeSet } from './judge-set';

/** Options by the kubelet's names, each on or off; some pairs exclude each other. */
export function makeOptions(random: Random): Readonly<Record<string, string>> {
  const on = [...OPTIONS_BY_NAME.keys()].filter(() => random.chance(0.3));
  return Object.fromEntries(on.map((name) => [name, 'true']));
}

/** Both kubelets: as it is, and with its comparisons with mean sizes repaired. */
export interface Kubelets {
  readonly real: AskKubelet;
  readonly repaired: AskKubelet;
}

/** Asks both sides for options, a reservation, and then for sets and hints on states without a history. */
export async function compareSingles(
  kubelets: Kubelets,
  machine: Machine,
  random: Random,
  { tally, questions }: { readonly tally: Tally; readonly questions: number },
): Promise<void> {
  const { topology } = machine;
  const question = { op: 'policy', options: makeOptions(random), ...makeReservation(machine, random) } as const;
  const [answer, repaired] = await Promise.all([kubelets.real.ask(question), kubelets.repaired.ask(question)]);
  const here = readPolicy(machine, question);
  await comparePolicies();
  if ('error' in answer || typeof here === 'string') return;
  const policy = { options: here.options, reserved: parseCpuList(answer.reserved) };
  await kubelets.repaired.ask({ op: 'policy', options: question.options, reserved: answer.reserved });
  const waiting: Promise<void>[] = [];
  for (let i = 0; i < questions; i++) {
    const available = makeAvailable(machine, random).minus(policy.reserved);
    const count = random.int(1, Math.max(1, random.chance(0.5) ? Math.min(8, available.size) : available.size + 1));
    const nodes =
      hasFewNodes(machine) && random.chance(0.3)
        ? topology.numaNodes.map(({ id }) => id).filter(() => random.chance(0.5))
        : [];
    const asked = { available: available.toString(), count, ...(nodes.length > 0 && { nodes }) };
    waiting.push(compareSet(kubelets, machine, policy, { tally, asked: { op: 'allocate', ...asked } }));
    waiting.push(compareHints(kubelets.real, machine, policy, { tally, asked: { op: 'hints', ...asked } }));
  }
  await Promise.all(waiting);

  async function comparePolicies(): Promise<void> {
    const theirs = 'error' in answer ? undefined : answer.reserved;
    const ours = typeof here === 'string' ? undefined : here.reserved.toString();
    const isUnanswered = 'error' in answer && answer.error === NEVER_ANSWERED.error;
    if (theirs === ours && !isUnanswered && !isPanic(answer)) return tally.count('reservation');
    const kind =
      typeof here === 'string' || isPanic(answer)
        ? 'unknown'
        : await judgeSet({
            topology,
            options: here.options,
            isReservation: true,
            available: topology.online,
            count: question.count ?? 0,
            kubelet: theirs,
            here: ours,
            isUnanswered,
            askRepaired: () => Promise.resolve('error' in repaired ? undefined : repaired.reserved),
          });
    tally.count('reservation', kind, () => ({ machine: machine.question, question, answer, here }));
  }
}

/** A panic of the kubelet is no refusal. */
const isPanic = (answer: object): boolean => 'error' in answer && String(answer.error).startsWith('panic: ');

interface Policy {
  readonly options: StaticPolicyOptions;
  readonly reserved: CpuSet;
}

function readPolicy({ topology }: Machine, { options, reserved, count = 0 }: PolicyQuestion): Policy | string {
  const parsed = parseStaticPolicyOptions(new Map(Object.entries(options)));
  if (!parsed.ok) return parsed.problem.because;
  const checked = checkStaticPolicyOptions(parsed.options, { topology, topologyManagerPolicy: 'none' });
  if (!checked.ok) return checked.problem.because;
  const chosen = chooseReserved(
    topology,
    parsed.options,
    reserved === undefined ? { count } : { list: parseCpuList(reserved) },
  );
  return chosen.ok ? { options: parsed.options, reserved: chosen.reserved } : chosen.error;
}

function makeReservation({ topology }: Machine, random: Random): Pick<PolicyQuestion, 'reserved' | 'count'> {
  const count = random.int(1, Math.max(1, Math.min(4, topology.online.size - 1)));
  if (random.chance(0.5)) return { count };
  const ids = [...topology.online];
  return { reserved: CpuSet.of(Array.from({ length: count }, () => random.pick(ids))).toString() };
}

/** Free CPUs as they are after some use: whole units are taken, then cores, then single CPUs. */
function makeAvailable({ topology }: Machine, random: Random): CpuSet {
  const { numaNodes, uncoreCaches, cores, online } = topology;
  const taken: CpuSet[] = [];
  for (const units of [numaNodes, uncoreCaches, cores]) {
    const share = random.pick([0, 0, 0.1, 0.3, 0.6]);
    for (const { cpus } of units) if (share > 0 && random.chance(share)) taken.push(cpus);
  }
  const share = random.pick([0, 0, 0.1, 0.4]);
  if (share > 0) taken.push(CpuSet.of([...online].filter(() => random.chance(share))));
  return online.minus(CpuSet.unionOf(taken));
}

async function compareSet(
  kubelets: Kubelets,
  machine: Machine,
  policy: Policy,
  { tally, asked }: { readonly tally: Tally; readonly asked: AllocateQuestion & { readonly op: 'allocate' } },
): Promise<void> {
  const answering = kubelets.real.ask(asked);
  const here = decideSet(machine, policy, asked);
  const answer = await answering;
  const theirs = 'cpus' in answer ? answer.cpus : undefined;
  const ours = here.kind === 'pin' ? here.cpus.toString() : undefined;
  const what = asked.nodes ? 'set on chosen nodes' : 'set';
  const isUnanswered = 'error' in answer && answer.error === NEVER_ANSWERED.error;
  if (theirs === ours && !isUnanswered && !isPanic(answer)) return tally.count(what);
  const { options, reserved } = policy;
  const kind = isPanic(answer)
    ? 'unknown'
    : await judgeSet({
        topology: machine.topology,
        options,
        available: parseCpuList(asked.available),
        count: asked.count,
        kubelet: theirs,
        here: ours,
        isUnanswered,
        askRepaired: async (available) => {
          const repaired = await kubelets.repaired.ask({ ...asked, available: available.toString() });
          return 'cpus' in repaired ? repaired.cpus : undefined;
        },
      });
  tally.count(what, kind, () => ({
    machine: machine.question,
    options: optionNames(options),
    reserved: reserved.toString(),
    asked,
    kubelet: answer,
    here: here.kind === 'pin' ? ours : here.because,
  }));
}

function decideSet(
  { topology }: Machine,
  { options, reserved }: Policy,
  { available, count, nodes }: AllocateQuestion,
): Decision {
  const free = parseCpuList(available);
  const sharedPool = options.strictCpuReservation ? free : free.union(reserved);
  const snapshot = bareSnapshot(topology, { settings: { options, reserved }, free, sharedPool });
  if (!nodes) return POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
  return decideOnNodes(snapshot, count, CpuSet.of(nodes));
}

/** As the policy decides when its topology manager has chosen the nodes. */
function decideOnNodes(snapshot: Snapshot, count: number, nodes: CpuSet): Decision {
  const alone = POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
  if (alone.kind !== 'pin') return alone;
  const sources = [snapshot.own, snapshot.idleInPod, snapshot.free].map((cpus) => ({ what: '', cpus }));
  const taken = allocateOnNodes(snapshot, grantOptionsOf('static', snapshot.settings), sources, { count, nodes });
  return taken.ok ? { ...alone, cpus: taken.cpus } : { kind: 'refuse', code: 'INTERNAL', because: taken.error };
}

async function compareHints(
  kubelet: AskKubelet,
  machine: Machine,
  { options, reserved }: Policy,
  { tally, asked }: { readonly tally: Tally; readonly asked: AllocateQuestion & { readonly op: 'hints' } },
): Promise<void> {
  const { topology } = machine;
  const answering = kubelet.ask(asked);
  const hints = hintCpus({
    topology,
    options,
    count: asked.count,
    available: parseCpuList(asked.available),
    reusable: CpuSet.empty,
  });
  const ids = topology.numaNodes.map(({ id }) => id);
  const here =
    hints &&
    listHints(hints).map(({ mask, preferred }): ShownHint => ({
      nodes: mask === null ? null : ids.filter((_, i) => (mask & (1 << i)) !== 0),
      preferred,
    }));
  const answer = await answering;
  if ('error' in answer) {
    const isKnown = isPanic(answer) && !hasFewNodes(machine);
    return tally.count('hints', isKnown ? 'panics' : 'unknown', () => ({ machine: machine.question, asked, answer }));
  }
  const [theirs, ours] = [showHints(answer.hints), showHints(here)];
  const same = String(theirs) === String(ours);
  tally.count('hints', same ? undefined : judgeHints({ topology, options }, theirs ?? [], ours ?? []), () => ({
    machine: machine.question,
    options: optionNames(options),
    reserved: reserved.toString(),
    asked,
    kubelet: theirs,
    here: ours,
  }));
}

/** Hints in an order that both sides have. */
const showHints = (hints: readonly ShownHint[] | null): readonly string[] | undefined =>
  hints?.map(({ nodes, preferred }) => `${nodes?.join('+') ?? 'any'} ${preferred}`).sort();

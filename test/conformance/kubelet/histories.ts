import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { optionNames, type Settings } from '../../../src/core/model/settings';
import { checkStaticPolicyOptions, parseStaticPolicyOptions } from '../../../src/core/options/static-policy-options';
import type { Random } from '../../support/random';
import { HistoryNode, type Outcome } from './history-node';
import { judgeSet, type Kind } from './kinds';
import type { Machine } from './machines';
import { containersOf, isInit, makePod } from './pods';
import type { Admission, KubeletQuestion, PodQuestion } from './questions';
import { type Kubelets, makeOptions } from './single-decisions';
import type { Tally } from './tally';

const TOPOLOGY_POLICIES = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;

interface Rules {
  readonly question: KubeletQuestion;
  readonly settings: Settings;
}

/** Random rules of a node: options, topology manager, memory manager. Those that a kubelet does not start with are not among them. */
function makeRules({ topology }: Machine, random: Random, reserved: CpuSet): Rules {
  for (;;) {
    const options = makeOptions(random);
    const policy = random.pick(TOPOLOGY_POLICIES);
    const scope = random.pick(['container', 'pod'] as const);
    const preferClosestNumaNodes = random.chance(0.3);
    const followsMemory = random.chance(0.4);
    const parsed = parseStaticPolicyOptions(new Map(Object.entries(options)));
    if (!parsed.ok || !checkStaticPolicyOptions(parsed.options, { topology, topologyManagerPolicy: policy }).ok) continue;
    const [first] = topology.memoryNodes;
    return {
      question: {
        op: 'kubelet',
        options,
        reserved: reserved.toString(),
        topologyManager: { policy, scope, options: { 'prefer-closest-numa-nodes': String(preferClosestNumaNodes) } },
        ...(followsMemory && { reservedMemory: { [String(first!.id)]: 4096 } }),
        podLevel: random.chance(0.5),
      },
      settings: {
        cpuManagerPolicy: 'static',
        options: parsed.options,
        reserved,
        minSharedCpus: 1,
        onInsufficientCpu: 'refuse',
        liftCpuQuota: false,
        topologyManager: { policy, scope, options: { preferClosestNumaNodes, maxAllowableNumaNodes: 8 } },
        memoryNodes: followsMemory ? 'follow' : 'off',
      },
    };
  }
}

interface Sides {
  readonly kubelets: Kubelets;
  readonly machine: Machine;
  readonly node: HistoryNode;
  rules: Rules;
  /** What the kubelet gave to each pod that it has. */
  readonly given: Map<string, Admission>;
  readonly pods: Map<string, PodQuestion>;
  readonly log: unknown[];
}

/** Both sides go through one history: pods come and go, containers exit and come back, the kubelet and the daemon start again. */
export async function compareHistory(
  kubelets: Kubelets,
  machine: Machine,
  random: Random,
  { tally, steps }: { readonly tally: Tally; readonly steps: number },
): Promise<void> {
  const { topology } = machine;
  const ids = [...topology.online];
  const reserved = CpuSet.of(Array.from({ length: random.int(1, Math.min(3, ids.length - 1)) }, () => random.pick(ids)));
  const rules = makeRules(machine, random, reserved);
  const started = await kubelets.real.ask(rules.question);
  if ('error' in started) throw new Error(`${started.error}: ${JSON.stringify(rules.question)}`);
  await kubelets.repaired.ask({ op: 'policy', options: rules.question.options, reserved: reserved.toString() });
  const node = new HistoryNode(topology, rules.settings);
  const sides: Sides = { kubelets, machine, node, rules, given: new Map(), pods: new Map(), log: [rules.question] };
  for (let step = 0; step < steps; step++) {
    const uid = sides.given.size > 0 ? random.pick([...sides.given.keys()]) : undefined;
    const act = random.int(1, 100);
    if (act <= 60 || uid === undefined) {
      const largest = Math.max(1, Math.floor(topology.online.size / 2));
      const pod = makePod(random, `pod-${step}`, { largest, podLevel: true });
      if (!(await admit(sides, pod, tally))) return;
    } else if (act <= 85) await remove(sides, uid, tally);
    else if (act <= 95) makeAgain(sides, uid, random, tally);
    else {
      const anew = makeRules(machine, random, reserved);
      // A kubelet whose state has pods as wholes does not start when the feature gate is switched off.
      const next = { ...anew, question: { ...anew.question, podLevel: rules.question.podLevel } };
      if (next.settings.options.strictCpuReservation !== sides.rules.settings.options.strictCpuReservation) continue;
      if ((next.question.reservedMemory === undefined) !== (sides.rules.question.reservedMemory === undefined)) continue;
      if (!(await restart(sides, next, tally))) return;
    }
  }
}

/** False when the kubelet gave CPUs twice: nothing can be compared from then on. */
async function admit(sides: Sides, pod: PodQuestion, tally: Tally): Promise<boolean> {
  if (!(await compareAdmission(sides, pod, tally))) return false;
  // What the kubelet keeps for init containers that have ended, cpusetd gives back: such a pod goes, so that both go on from one state.
  if (sides.given.has(pod.uid) && (pod.requests || pod.init.some(({ sidecar }) => sidecar !== true))) await remove(sides, pod.uid, tally);
  return true;
}

async function compareAdmission(sides: Sides, pod: PodQuestion, tally: Tally): Promise<boolean> {
  const { kubelets, node, given, pods, log } = sides;
  const before = node.sharedPool;
  const answer = await kubelets.real.ask({ op: 'admit', pod });
  if ('error' in answer) throw new Error(answer.error);
  const outcome = node.admit(pod);
  log.push({ pod });
  const describe = () => ({ machine: sides.machine.question, log, kubelet: answer, here: { refused: outcome.refused, placed: outcome.placed.map(({ name, cpus, mems }) => [name, cpus?.toString(), mems.toString()]) } });
  const isAdmitted = outcome.refused === undefined;
  if (answer.admitted) {
    given.set(pod.uid, answer);
    pods.set(pod.uid, pod);
  }
  if (answer.admitted !== isAdmitted) {
    tally.count('admission', judgeAdmission(sides, pod, answer, outcome), describe);
    if (answer.admitted) node.keep(pod);
    return adoptUnlessTwice(sides);
  }
  tally.count('admission');
  if (!isAdmitted) {
    checkPool(sides, answer.default, tally, before);
    return true;
  }
  let isSame = true;
  for (const { name, cpus, mems } of outcome.placed) {
    const theirs = answer.cpus[name];
    const ours = cpus?.toString();
    if (theirs !== ours) {
      tally.count('set of a container', await judgePlaced(sides, pod, answer, outcome, name), describe);
      isSame = false;
      break; // what follows has another state
    }
    tally.count('set of a container');
    if (sides.rules.settings.memoryNodes === 'follow' && cpus) {
      const nodes = CpuSet.of(answer.memory[name] ?? []).toString();
      const same = nodes === mems.toString();
      tally.count('memory nodes', same ? undefined : judgeMemory(sides), describe);
      if (!same) isSame = false;
    }
  }
  if (!isSame) return adoptUnlessTwice(sides);
  if (!pod.init.some(({ sidecar }) => sidecar !== true)) checkPool(sides, answer.default, tally, before);
  return true;
}

function adoptUnlessTwice(sides: Sides): boolean {
  const { given, pods, rules } = sides;
  let taken = rules.settings.reserved;
  for (const [uid, { cpus }] of given) {
    const ofPod = CpuSet.unionOf(Object.values(cpus).map(parseCpuList));
    if (ofPod.overlaps(taken)) return false;
    const running = containersOf(pods.get(uid)!).filter(({ name }) => !isInit(pods.get(uid)!, name) && cpus[name] !== undefined);
    const sizes = running.reduce((sum, { name }) => sum + parseCpuList(cpus[name]!).size, 0);
    if (!pods.get(uid)!.requests && sizes !== CpuSet.unionOf(running.map(({ name }) => parseCpuList(cpus[name]!))).size) return false;
    taken = taken.union(ofPod);
  }
  adopt(sides);
  return true;
}

function judgeAdmission(sides: Sides, pod: PodQuestion, answer: Admission, outcome: Outcome): Kind | 'unknown' {
  if (pod.requests && !(rules_(sides).podLevel && rules_(sides).topologyManager.scope === 'container')) return 'pod-level';
  return `${answer.admitted ? 'here refuses' : 'kubelet refuses'} ${optionNames(sides.rules.settings.options).join('+')} ${sides.rules.question.topologyManager.policy} ${sides.rules.settings.memoryNodes} ${pod.requests ? 'pod-level' : ''} ${pod.init.length} ${outcome.refused?.slice(0, 40)} ${answer.reason}`;
}

const rules_ = (sides: Sides) => sides.rules.question;

function judgeMemory(_sides: Sides): Kind | 'unknown' {
  return 'memory';
}

async function judgePlaced(sides: Sides, pod: PodQuestion, answer: Admission, outcome: Outcome, name: string): Promise<Kind | 'unknown'> {
  const { kubelets, machine, rules } = sides;
  if (pod.requests) return rules.question.podLevel && rules.question.topologyManager.scope === 'container' ? 'unknown' : 'pod-level';
  const placed = outcome.placed.find((each) => each.name === name)!;
  const affinity = answer.affinity[name]!;
  if (rules.question.topologyManager.policy !== 'none' && !affinity) return 'unknown';
  const hasInit = containersOf(pod).some((container) => isInit(pod, container.name));
  if (hasInit) return 'init';
  return judgeSet({
    topology: machine.topology,
    options: rules.settings.options,
    available: placed.free.union(placed.idle),
    count: placed.cpus?.size ?? parseCpuList(answer.cpus[name] ?? '').size,
    kubelet: answer.cpus[name],
    here: placed.cpus?.toString(),
    isUnanswered: false,
    askRepaired: async (available) => {
      const repaired = await kubelets.repaired.ask({ op: 'allocate', available: available.toString(), count: placed.cpus?.size ?? 0, ...(affinity.nodes && { nodes: affinity.nodes }) });
      return 'cpus' in repaired ? repaired.cpus : undefined;
    },
  });
}

async function remove(sides: Sides, uid: string, tally: Tally): Promise<void> {
  const { kubelets, node, given, pods, log } = sides;
  const before = node.sharedPool;
  log.push({ remove: uid });
  const answer = await kubelets.real.ask({ op: 'remove', uid });
  if ('error' in answer) throw new Error(answer.error);
  given.delete(uid);
  pods.delete(uid);
  node.remove(uid);
  checkPool(sides, answer.default, tally, before);
}

/** The kubelet gives a container that it makes again what it gave at the admission. */
function makeAgain({ node, given, pods, log, machine }: Sides, uid: string, random: Random, tally: Tally): void {
  const pod = pods.get(uid)!;
  const names = containersOf(pod).filter(({ name }) => !isInit(pod, name)).map(({ name }) => name);
  const name = random.pick(names);
  const before = node.cpusOf(uid, name)?.toString();
  const refused = node.makeAgain(uid, name);
  log.push({ again: `${uid}/${name}` });
  const after = refused ?? node.cpusOf(uid, name)?.toString();
  tally.count('set of a container made again', after === before ? undefined : 'unknown', () => ({ machine: machine.question, log, before, after, given: given.get(uid) }));
}

async function restart(sides: Sides, next: Rules, tally: Tally): Promise<boolean> {
  const { kubelets, node, given, log } = sides;
  log.push({ ...next.question, op: 'restart' });
  const answer = await kubelets.real.ask({ ...next.question, op: 'restart' });
  if ('error' in answer) {
    const hasPodLevel = [...sides.pods.values()].some(({ requests }) => requests !== undefined);
    tally.count('start', hasPodLevel && /doesn't match with CPUs in state/.test(answer.error) ? 'lost-cpus' : 'unknown', () => ({ machine: sides.machine.question, log, answer }));
    return false;
  }
  tally.count('start');
  await kubelets.repaired.ask({ op: 'policy', options: next.question.options, reserved: next.question.reserved });
  sides.rules = next;
  node.restart(next.settings);
  let isSame = true;
  for (const again of answer.pods) {
    const pod = sides.pods.get(again.uid)!;
    for (const { name } of containersOf(pod)) {
      const ours = node.cpusOf(again.uid, name)?.toString();
      const theirs = given.get(again.uid)!.cpus[name];
      if (isInit(pod, name)) continue;
      tally.count('set after a restart', ours === theirs ? undefined : 'unknown', () => ({ machine: sides.machine.question, log, name, ours, theirs, again }));
    }
    if (!again.admitted) {
      tally.count('admission after a restart', `kubelet refuses: ${again.reason} ${next.question.topologyManager.policy}`);
      given.delete(again.uid);
      sides.pods.delete(again.uid);
      isSame = false;
    } else {
      tally.count('admission after a restart');
      if (JSON.stringify(again.cpus) !== JSON.stringify(given.get(again.uid)!.cpus)) isSame = false;
      given.set(again.uid, again);
    }
  }
  if (!isSame) adopt(sides);
  return true;
}

function adopt({ node, given }: Sides): void {
  node.adopt(
    new Map([...given].map(([uid, { cpus }]) => [uid, cpus])),
    new Map([...given].map(([uid, { memory }]) => [uid, memory])),
  );
}

function checkPool(sides: Sides, kubelet: string, tally: Tally, before: CpuSet): void {
  const { node, log, machine } = sides;
  const same = node.sharedPool.toString() === kubelet;
  tally.count('shared pool', same ? undefined : 'unknown', () => ({ machine: machine.question, log, kubelet, here: node.sharedPool.toString(), before: before.toString() }));
  if (!same) adopt(sides);
}

import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { checkStaticPolicyOptions, parseStaticPolicyOptions } from '../../../src/core/options/static-policy-options';
import type { Random } from '../../support/random';
import { HistoryNode } from './history-node';
import {
  givesTwice,
  hasPlainInit,
  judgeAdmission,
  judgeFailure,
  judgeMemory,
  judgePlaced,
  listRunning,
  type Rules,
  type Sides,
} from './judge-history';
import type { Machine } from './machines';
import { containersOf, isInit, makePod } from './pods';
import type { PodQuestion } from './questions';
import { type Kubelets, makeOptions } from './single-decisions';
import type { Tally } from './tally';

const TOPOLOGY_POLICIES = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;

/**
 * Random rules of a node: options, topology manager, memory manager. Those that a kubelet does not start with are not
 * among them.
 */
function makeRules({ topology }: Machine, random: Random, reserved: CpuSet): Rules {
  for (;;) {
    const options = makeOptions(random);
    const policy = random.pick(TOPOLOGY_POLICIES);
    const scope = random.pick(['container', 'pod'] as const);
    const preferClosestNumaNodes = random.chance(0.3);
    const followsMemory = random.chance(0.4);
    const parsed = parseStaticPolicyOptions(new Map(Object.entries(options)));
    if (!parsed.ok || !checkStaticPolicyOptions(parsed.options, { topology, topologyManagerPolicy: policy }).ok)
      continue;
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

/**
 * Both sides go through one history: pods come and go, containers exit and come back, the kubelet and the daemon start
 * again.
 */
export async function compareHistory(
  kubelets: Kubelets,
  machine: Machine,
  random: Random,
  { tally, steps }: { readonly tally: Tally; readonly steps: number },
): Promise<void> {
  const { topology } = machine;
  const ids = [...topology.online];
  const reserved = CpuSet.of(
    Array.from({ length: random.int(1, Math.min(3, ids.length - 1)) }, () => random.pick(ids)),
  );
  const rules = makeRules(machine, random, reserved);
  const started = await kubelets.real.ask(rules.question);
  if ('error' in started) throw new Error(`${started.error}: ${JSON.stringify(rules.question)}`);
  await kubelets.repaired.ask({ op: 'policy', options: rules.question.options, reserved: reserved.toString() });
  const node = new HistoryNode(topology, rules.settings);
  const sides: Sides = {
    kubelets,
    machine,
    node,
    rules,
    given: new Map(),
    pods: new Map(),
    log: [rules.question],
    isOver: false,
    hadPodAsWhole: false,
  };
  for (let step = 0; step < steps && !sides.isOver; step++) {
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
      if ((next.question.reservedMemory === undefined) !== (sides.rules.question.reservedMemory === undefined))
        continue;
      if (!(await restart(sides, next, tally))) return;
    }
  }
}

/** False when the kubelet gave CPUs twice: nothing can be compared from then on. */
async function admit(sides: Sides, pod: PodQuestion, tally: Tally): Promise<boolean> {
  if (!(await compareAdmission(sides, pod, tally))) return false;
  // The kubelet keeps CPUs of init containers that have ended, and cpusetd gives them back: such a pod goes, so that
  // both go on from one state.
  if (sides.given.has(pod.uid) && (pod.requests || hasPlainInit(pod))) await remove(sides, pod.uid, tally);
  return true;
}

async function compareAdmission(sides: Sides, pod: PodQuestion, tally: Tally): Promise<boolean> {
  const { kubelets, node, given, pods, log } = sides;
  const before = node.sharedPool;
  const answer = await kubelets.real.ask({ op: 'admit', pod });
  const { podLevel, topologyManager } = sides.rules.question;
  if (pod.requests && podLevel && topologyManager.scope === 'pod') sides.hadPodAsWhole = true;
  if ('error' in answer) {
    tally.count('admission', judgeFailure(sides, answer), () => ({
      machine: sides.machine.question,
      log,
      pod,
      answer,
    }));
    return false;
  }
  const outcome = node.admit(pod);
  log.push({ pod });
  const describe = () => ({
    machine: sides.machine.question,
    log,
    kubelet: answer,
    here: {
      refused: outcome.refused,
      placed: outcome.placed.map(({ name, cpus, mems }) => [name, cpus?.toString(), mems.toString()]),
    },
  });
  const isAdmitted = outcome.refused === undefined;
  if (answer.admitted) {
    given.set(pod.uid, answer);
    pods.set(pod.uid, pod);
  }
  if (answer.admitted !== isAdmitted) {
    tally.count('admission', await judgeAdmission(sides, pod, answer), describe);
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
      tally.count('memory nodes', same ? undefined : judgeMemory(sides, cpus, mems), describe);
      if (!same) isSame = false;
    }
  }
  if (!isSame) return adoptUnlessTwice(sides);
  if (!hasPlainInit(pod) && !pod.requests) checkPool(sides, answer.default, tally, before);
  return true;
}

function adoptUnlessTwice(sides: Sides): boolean {
  if (givesTwice(sides)) return false;
  adopt(sides);
  return true;
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
  const names = listRunning(pod).map(({ name }) => name);
  const name = random.pick(names);
  const before = node.cpusOf(uid, name)?.toString();
  const refused = node.makeAgain(uid, name);
  log.push({ again: `${uid}/${name}` });
  const after = refused ?? node.cpusOf(uid, name)?.toString();
  tally.count('set of a container made again', after === before ? undefined : 'unknown', () => ({
    machine: machine.question,
    log,
    before,
    after,
    given: given.get(uid),
  }));
}

async function restart(sides: Sides, next: Rules, tally: Tally): Promise<boolean> {
  const { kubelets, node, given, log } = sides;
  log.push({ ...next.question, op: 'restart' });
  const answer = await kubelets.real.ask({ ...next.question, op: 'restart' });
  if ('error' in answer) {
    tally.count('start', judgeFailure(sides, answer), () => ({ machine: sides.machine.question, log, answer }));
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
      tally.count('set after a restart', ours === theirs ? undefined : 'unknown', () => ({
        machine: sides.machine.question,
        log,
        name,
        ours,
        theirs,
        again,
      }));
    }
    if (!again.admitted) {
      tally.count(
        'admission after a restart',
        again.reason === 'TopologyAffinityError' ? 'refused-at-restart' : 'unknown',
        () => ({ machine: sides.machine.question, log, again }),
      );
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
  const { node, log, machine, rules } = sides;
  const same = node.sharedPool.toString() === kubelet;
  // Here the shared containers have the reserved CPUs then.
  if (kubelet === '' && node.sharedPool.equals(rules.settings.reserved))
    return tally.count('shared pool', 'empty-pool');
  const { options, reserved } = rules.settings;
  const given = [...sides.given.values()].flatMap(({ cpus }) => Object.values(cpus).map(parseCpuList));
  const others = CpuSet.unionOf(options.strictCpuReservation ? [reserved, ...given] : given);
  if (others.overlaps(parseCpuList(kubelet))) {
    sides.isOver = true;
    return tally.count('shared pool', 'busy-cpus');
  }
  if (sides.hadPodAsWhole && parseCpuList(kubelet).isSubsetOf(node.sharedPool) && !same) {
    sides.isOver = true;
    return tally.count('shared pool', 'lost-cpus');
  }
  tally.count('shared pool', same ? undefined : 'unknown', () => ({
    machine: machine.question,
    log,
    kubelet,
    here: node.sharedPool.toString(),
    before: before.toString(),
  }));
  if (!same) adopt(sides);
}

import { cpuQuantity } from '../../../src/option-types/cpu-types';
import { chooseReserved, allocate, type AllocationRequest } from '../../../src/core/allocation';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { NO_OPTIONS, type StaticPolicyOptions } from '../../../src/core/model/settings';
import { parseStaticPolicyOptions } from '../../../src/core/options/static-policy-options';
import { POLICIES, type Snapshot } from '../../../src/core/policy';
import { allocateOnNodes } from '../../../src/core/policy/allocate-on-nodes';
import { grantOptionsOf } from '../../../src/core/policy/grant-options';
import { keepWholeCores, type Topology } from '../../../src/core/topology';
import { bareSnapshot } from '../../core/policy/bare-snapshot';
import type { Runner, Scenario } from './scenario';

/** The policy options of a scenario, by kubelet names. */
export function optionsOf(given: Readonly<Record<string, boolean>> = {}): StaticPolicyOptions {
  const parsed = parseStaticPolicyOptions(new Map(Object.entries(given).map(([name, on]) => [name, String(on)])));
  if (!parsed.ok) throw new Error(parsed.problem.because);
  return parsed.options;
}

function requestOf({ given }: Scenario, machines: ReadonlyMap<string, Topology>): AllocationRequest {
  return {
    topology: machines.get(given.topology)!,
    available: parseCpuList(given.available),
    count: given.cpus,
    algorithm: given.groupSize === undefined ? 'packed' : 'distributed',
    strategy: given.strategy ?? 'packed',
    preferAlignByUncoreCache: given.preferUncore ?? false,
    cpuGroupSize: given.groupSize ?? 1,
  };
}

export const runAssign: Runner = (scenario, machines) => {
  const { expect: want } = scenario;
  const got = allocate(requestOf(scenario, machines));
  if (want.error) {
    const { requested, available } = want.error;
    const error = `not enough cpus available to satisfy request: requested=${requested}, available=${available}`;
    expect(got).toMatchObject({ ok: false, error });
  } else {
    expect(got.ok && got.cpus.toString()).toBe(want.intended ?? want.cpuset);
  }
};

/** The kubelet's result is a fault here: busy CPUs are allocated, or large cores are skipped. */
export const runHazard: Runner = (scenario, machines) => {
  const request = requestOf(scenario, machines);
  const got = allocate(request);
  if (!got.ok) throw new Error(got.error);
  expect(got.cpus.size).toBe(request.count);
  expect(got.cpus.isSubsetOf(request.available)).toBe(true);
  expect(got.cpus.overlaps(parseCpuList(scenario.expect.busyCpusTakenByMistake))).toBe(false);
};

export const runReserved: Runner = ({ given, expect: want }, machines) => {
  if (given.systemReservedMilli !== undefined) {
    expect(cpuQuantity.parse(`${given.systemReservedMilli}m`)).toMatchObject({ value: want.reservedCount });
    return;
  }
  const topology = machines.get(given.topology)!;
  const list = given.reservedList === null ? {} : { list: parseCpuList(given.reservedList) };
  const got = chooseReserved(topology, NO_OPTIONS, { count: given.reservedCount, ...list });
  if (want.error) {
    expect(got).toMatchObject({ ok: false, error: expect.stringMatching(/reserved CPUs 0-1 are 2, but 1 /) });
    return;
  }
  if (!got.ok) throw new Error(got.error);
  expect(got.reserved.toString()).toBe(want.reserved);
  const grantable = keepWholeCores(topology, topology.online.minus(got.reserved));
  expect(topology.online.minus(grantable).toString()).toBe(want.reservedPhysical);
};

/** Makes the allocations of the static policy one after the other. NUMA nodes of the scenario are taken as the hint. */
export const runChoose: Runner = ({ given, steps = [], expect: want }, machines) => {
  const topology = machines.get(given.topology)!;
  const settings = {
    options: optionsOf(given.options),
    reserved: parseCpuList(given.reserved.list ?? given.reserved.chosen),
  };
  let pool = parseCpuList(given.state.defaultCpuSet);
  const caches = new Set<number>();
  for (const { cpus: count, hintNumaNodes, expect: wanted } of steps) {
    const snapshot = bareSnapshot(topology, { settings, free: pool.minus(settings.reserved), sharedPool: pool });
    const got = hintNumaNodes
      ? allocateFrom(snapshot, count, CpuSet.of(hintNumaNodes))
      : POLICIES.static(snapshot, { count, podCount: count, memoryBytes: 0 });
    if (!('cpus' in got)) throw new Error(JSON.stringify(got));
    expect(got.cpus.toString()).toBe(wanted.cpuset);
    pool = pool.minus(got.cpus);
    for (const cache of topology.uncoreCaches) if (cache.cpus.overlaps(got.cpus)) caches.add(cache.id);
  }
  expect(pool.toString()).toBe(want.final.defaultCpuSet);
  if (want.uncoreCachesUsed) expect([...caches].sort((a, b) => a - b)).toEqual(want.uncoreCachesUsed);
};

/** Allocates as the policy does after the topology manager has chosen the nodes. */
function allocateFrom(snapshot: Snapshot, count: number, nodes: CpuSet) {
  const sources = [snapshot.own, snapshot.idleInPod, snapshot.free].map((cpus) => ({ what: '', cpus }));
  return allocateOnNodes(snapshot, grantOptionsOf('static', snapshot.settings), sources, { count, nodes });
}

import { choose, take, type TakeRequest } from '../../../src/core/allocation';
import { chooseReserved, countReserved, reservedPhysical } from '../../../src/core/allocation';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { NO_OPTIONS, type StaticPolicyOptions } from '../../../src/core/model/settings';
import { parseStaticPolicyOptions } from '../../../src/core/options';
import type { Topology } from '../../../src/core/topology';
import type { Runner, Scenario } from './scenario';

/** Options of a scenario: kubelet names, true or false. */
export function optionsOf(given: Readonly<Record<string, boolean>> = {}): StaticPolicyOptions {
  const parsed = parseStaticPolicyOptions(new Map(Object.entries(given).map(([name, on]) => [name, String(on)])));
  if (!parsed.ok) throw new Error(parsed.problem.because);
  return parsed.options;
}

function requestOf({ given }: Scenario, machines: ReadonlyMap<string, Topology>): TakeRequest {
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
  const got = take(requestOf(scenario, machines));
  if (want.error) {
    const { requested, available } = want.error;
    const error = `not enough cpus available to satisfy request: requested=${requested}, available=${available}`;
    expect(got).toMatchObject({ ok: false, error });
  } else {
    expect(got.ok && got.cpus.toString()).toBe(want.intended ?? want.cpuset);
  }
};

/** What the kubelet does here must not happen: busy CPUs given out, or large cores passed over. */
export const runHazard: Runner = (scenario, machines) => {
  const request = requestOf(scenario, machines);
  const got = take(request);
  if (!got.ok) throw new Error(got.error);
  expect(got.cpus.size).toBe(request.count);
  expect(got.cpus.isSubsetOf(request.available)).toBe(true);
  expect(got.cpus.overlaps(parseCpuList(scenario.expect.busyCpusTakenByMistake))).toBe(false);
};

export const runReserved: Runner = ({ given, expect: want }, machines) => {
  if (given.systemReservedMilli !== undefined) {
    expect(countReserved(given.systemReservedMilli)).toBe(want.reservedCount);
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
  expect(reservedPhysical(topology, got.reserved).toString()).toBe(want.reservedPhysical);
};

/** Allocations one after the other, with nothing but what is free and a NUMA mask. */
export const runChoose: Runner = ({ given, steps = [], expect: want }, machines) => {
  const topology = machines.get(given.topology)!;
  const reserved = parseCpuList(given.reserved.list ?? given.reserved.chosen);
  let free = parseCpuList(given.state.defaultCpuSet);
  const caches = new Set<number>();
  for (const step of steps) {
    const got = choose({
      topology,
      options: optionsOf(given.options),
      available: free.minus(reserved),
      reusable: CpuSet.empty,
      count: step.cpus,
      ...(step.hintNumaNodes && { nodes: CpuSet.of(step.hintNumaNodes) }),
    });
    expect(got.ok && got.cpus.toString()).toBe(step.expect.cpuset);
    if (!got.ok) return;
    free = free.minus(got.cpus);
    for (const cache of topology.uncoreCaches) if (cache.cpus.overlaps(got.cpus)) caches.add(cache.id);
  }
  expect(free.toString()).toBe(want.final.defaultCpuSet);
  if (want.uncoreCachesUsed) expect([...caches].sort((a, b) => a - b)).toEqual(want.uncoreCachesUsed);
};

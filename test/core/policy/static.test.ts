import fc from 'fast-check';
import { CpuSet } from '../../../src/core/cpuset';
import type { Assignment } from '../../../src/core/model/assignment';
import { NodeModel } from '../../../src/core/model/node-model';
import { rulesOf } from '../../../src/core/model/settings';
import { POLICIES, type Decision, type Snapshot } from '../../../src/core/policy';
import type { Topology } from '../../../src/core/topology';
import { snapshotFor } from '../../../src/core/decision/snapshot';
import { cpus, EIGHT_CPUS, machineOf, settingsWith, type Rules } from '../transition/node-driver';

interface Situation {
  readonly topology?: Topology;
  readonly rules?: Rules;
  /** CPUs of other pods. */
  readonly others?: string;
  readonly own?: string;
  readonly idle?: string;
}

function snapshotOf({ topology = EIGHT_CPUS, rules = {}, others = '', own = '', idle = '' }: Situation): Snapshot {
  const model = new NodeModel(topology, settingsWith(rules));
  const put = (podUid: string, containerName: string, list: string): void => {
    if (list === '') return;
    const assignment: Assignment = {
      podUid, podNamespace: 'ns', podName: podUid, containerName, kind: 'static', cpus: cpus(list), mems: CpuSet.empty,
      requested: 1, containerId: containerName === 'idle' ? null : containerName, quotaLifted: false,
      rules: rulesOf(model.settings), because: 'given', since: '2026-01-01T00:00:00Z',
    }; // prettier-ignore
    model.apply({ kind: 'put-assignment', assignment });
  };
  put('other', 'x', others);
  put('p', 'c', own);
  put('p', 'idle', idle);
  return snapshotFor(model, { uid: 'p' }, 'c');
}

function decide(situation: Situation, count: number): Decision {
  return POLICIES.static(snapshotOf(situation), { count, podCount: count, memoryBytes: 0 });
}

/** The CPUs, or the reason for the refusal. */
function show(decision: Decision): string {
  if (decision.kind === 'pin') return decision.cpus.toString();
  return decision.kind === 'refuse' ? decision.code : decision.kind;
}

const noSmt = machineOf(8, 1);
const full: Rules = { options: { fullPcpusOnly: true } };
const spread: Rules = { options: { distributeCpusAcrossCores: true } };

test.each`
  name                                                                       | situation                                                  | count | want
  ${'whole cores that are free'}                                             | ${{}}                                                      | ${2}  | ${'1,5'}
  ${'the sibling of a reserved CPU for a single CPU'}                        | ${{}}                                                      | ${1}  | ${'4'}
  ${'everything that can be given out'}                                      | ${{}}                                                      | ${7}  | ${'1-7'}
  ${'one more than can be given out'}                                        | ${{}}                                                      | ${8}  | ${'RESOURCE_EXHAUSTED'}
  ${'not the CPUs of others'}                                                | ${{ others: '1,5' }}                                       | ${2}  | ${'2,6'}
  ${'its own CPUs, in any cores'}                                            | ${{ own: '3,6' }}                                          | ${2}  | ${'3,6'}
  ${'its own CPUs, also when no other CPU is free'}                          | ${{ own: '3,6', others: '1-2,4-5,7' }}                     | ${2}  | ${'3,6'}
  ${'its own CPUs, and the siblings that complete their cores'}              | ${{ own: '3' }}                                            | ${2}  | ${'3,7'}
  ${'its own CPUs and others, when their siblings are taken'}                | ${{ own: '3', others: '7' }}                               | ${2}  | ${'3-4'}
  ${'a part of its own CPUs'}                                                | ${{ own: '1-2,5-6' }}                                      | ${2}  | ${'1,5'}
  ${'idle ones of its pod before free ones'}                                 | ${{ idle: '3,7' }}                                         | ${2}  | ${'3,7'}
  ${'its own CPUs before idle ones'}                                         | ${{ own: '2,6', idle: '1,5' }}                             | ${3}  | ${'1-2,6'}
  ${'a free core rather than an idle half and a part of another core'}       | ${{ idle: '4' }}                                           | ${2}  | ${'1,5'}
  ${'an idle half that a free one completes'}                                | ${{ idle: '7' }}                                           | ${2}  | ${'3,7'}
  ${'idle halves where no core is whole'}                                    | ${{ idle: '4', others: '1-3' }}                            | ${2}  | ${'4-5'}
  ${'idle halves when one more core is needed anyway'}                       | ${{ idle: '4' }}                                           | ${3}  | ${'1,4-5'}
  ${'idle cores completed, not others'}                                      | ${{ idle: '2,6-7' }}                                       | ${4}  | ${'2-3,6-7'}
  ${'idle halves before free ones, if CPUs are to be spread'}                | ${{ idle: '4', rules: spread }}                            | ${2}  | ${'1,4'}
  ${'own, idle and free ones together'}                                      | ${{ own: '2', idle: '1', others: '5-7' }}                  | ${4}  | ${'1-4'}
  ${'own CPUs that are reserved now are not given again'}                    | ${{ own: '0-1' }}                                          | ${2}  | ${'1,5'}
  ${'idle CPUs that are reserved now are not given'}                         | ${{ idle: '0' }}                                           | ${1}  | ${'4'}
  ${'own CPUs that are offline are not given again'}                         | ${{ own: '8-9' }}                                          | ${2}  | ${'1,5'}
  ${'full cores: half a core'}                                               | ${{ rules: full }}                                         | ${3}  | ${'FAILED_PRECONDITION'}
  ${'full cores: a core shared with others does not count'}                  | ${{ rules: full, others: '1,6' }}                          | ${4}  | ${'RESOURCE_EXHAUSTED'}
  ${'full cores: own half cores, given before the option was set, are kept'} | ${{ rules: full, own: '1-2' }}                             | ${2}  | ${'1-2'}
  ${'full cores: an odd number that it had before is kept'}                  | ${{ rules: full, own: '1-2,5' }}                           | ${3}  | ${'1-2,5'}
  ${'full cores: own and free halves make a core'}                           | ${{ rules: full, own: '1', others: '2-3,6-7' }}            | ${2}  | ${'1,5'}
  ${'full cores: own and idle halves make a core'}                           | ${{ rules: full, own: '1', idle: '5', others: '2-3,6-7' }} | ${2}  | ${'1,5'}
  ${'full cores: idle cores first, then free ones'}                          | ${{ rules: full, idle: '3,7' }}                            | ${4}  | ${'1,3,5,7'}
  ${'full cores: a whole idle core before one that a free half completes'}   | ${{ rules: full, idle: '1,3,7', others: '2,6' }}           | ${2}  | ${'3,7'}
  ${'full cores without SMT are CPUs'}                                       | ${{ rules: full, topology: noSmt }}                        | ${3}  | ${'1-3'}
`('$name: $count -> $want', ({ situation, count, want }: { situation: Situation; count: number; want: string }) => {
  expect(show(decide(situation, count))).toBe(want);
});

describe('the floor of the shared pool', () => {
  const floor = (minSharedCpus: number, more: Rules = {}): Rules => ({ minSharedCpus, ...more });
  test.each`
    name                                                         | situation                                                                                                 | count | want
    ${'down to the floor'}                                       | ${{ topology: noSmt, rules: floor(3) }}                                                                   | ${5}  | ${'1-5'}
    ${'not below it'}                                            | ${{ topology: noSmt, rules: floor(3) }}                                                                   | ${6}  | ${'RESOURCE_EXHAUSTED'}
    ${'the pool is at its floor already'}                        | ${{ topology: noSmt, rules: floor(3), others: '3-7' }}                                                    | ${1}  | ${'RESOURCE_EXHAUSTED'}
    ${'the pool is below it: own CPUs are not of the pool'}      | ${{ topology: noSmt, rules: floor(5), own: '1-2', others: '3-7' }}                                        | ${2}  | ${'1-2'}
    ${'the pool is below it: idle CPUs are not of the pool'}     | ${{ topology: noSmt, rules: floor(5), idle: '1-2', others: '3-7' }}                                       | ${2}  | ${'1-2'}
    ${'reserved CPUs count as part of the pool'}                 | ${{ topology: noSmt, rules: floor(2, { reserved: '0-1' }) }}                                              | ${6}  | ${'2-7'}
    ${'strictly reserved CPUs do not count as part of the pool'} | ${{ topology: noSmt, rules: floor(2, { options: { strictCpuReservation: true } }) }}                      | ${6}  | ${'RESOURCE_EXHAUSTED'}
    ${'a request that leaves enough gets whole cores'}           | ${{ rules: floor(3) }}                                                                                    | ${4}  | ${'1-2,5-6'}
    ${'full cores that leave enough are given'}                  | ${{ rules: floor(2, { reserved: '0,4', options: { fullPcpusOnly: true, strictCpuReservation: true } }) }} | ${4}  | ${'1-2,5-6'}
  `('$name', ({ situation, count, want }: { situation: Situation; count: number; want: string }) => {
    expect(show(decide(situation, count))).toBe(want);
  });
});

test.each`
  name                                  | situation                          | count | because
  ${'the count that could be given'}    | ${{ others: '1-4' }}               | ${4}  | ${/asked for 4 exclusive CPUs, 3 can be given now: 3 of 7 allocatable CPUs are free, 1 of 8 online CPUs is reserved/}
  ${'that cores have to be whole'}      | ${{ rules: full, others: '1' }}    | ${6}  | ${/4 can be given.*full-pcpus-only/}
  ${'the counts that would be allowed'} | ${{ rules: full }}                 | ${3}  | ${/cores of 2 CPUs: ask for a multiple of 2/}
  ${'that the pool keeps a minimum'}    | ${{ rules: { minSharedCpus: 3 } }} | ${6}  | ${/5 can be given.*the shared pool keeps at least 3/}
`('a refusal says $name', ({ situation, count, because }: { situation: Situation; count: number; because: RegExp }) => {
  expect(decide(situation, count)).toMatchObject({ kind: 'refuse', because: expect.stringMatching(because) });
});

test('policy none gives no container exclusive CPUs', () => {
  expect(POLICIES.none(snapshotOf({}), { count: 2, podCount: 2, memoryBytes: 0 }).kind).toBe('share');
});

test('given CPUs have the requested count, can be given out, and leave the pool its minimum', () => {
  const subset = (set: CpuSet) => fc.subarray(set.toArray()).map((ids) => CpuSet.of(ids));
  const situations = fc
    .record({
      topology: fc.constantFrom(EIGHT_CPUS, noSmt, machineOf(6, 2), machineOf(3, 4)),
      fullPcpusOnly: fc.boolean(),
      strictCpuReservation: fc.boolean(),
      minSharedCpus: fc.integer({ min: 1, max: 4 }),
      count: fc.integer({ min: 1, max: 12 }),
    })
    .chain((fixed) =>
      fc
        .tuple(subset(fixed.topology.online), subset(fixed.topology.online), subset(fixed.topology.online))
        .map(([others, own, idle]) => ({
          ...fixed,
          others,
          own: own.minus(others),
          idle: idle.minus(others).minus(own),
        })),
    );
  fc.assert(
    fc.property(
      situations,
      ({ topology, fullPcpusOnly, strictCpuReservation, minSharedCpus, count, others, own, idle }) => {
        const snapshot = snapshotOf({
          topology,
          rules: { options: { fullPcpusOnly, strictCpuReservation }, minSharedCpus },
          others: others.toString(),
          own: own.toString(),
          idle: idle.toString(),
        });
        const request = { count, podCount: count, memoryBytes: 0 };
        const decision = POLICIES.static(snapshot, request);
        expect(POLICIES.static(snapshot, request)).toEqual(decision);
        if (decision.kind !== 'pin') return;
        const grantable = CpuSet.unionOf([snapshot.free, own, idle]).minus(snapshot.settings.reserved);
        const fromPool = decision.cpus.minus(own).minus(idle).countIn(snapshot.sharedPool);
        expect({
          size: decision.cpus.size,
          strangers: decision.cpus.minus(grantable).toString(),
          poolKeepsItsFloor: fromPool === 0 || snapshot.sharedPool.size - fromPool >= minSharedCpus,
          halfCores:
            fullPcpusOnly && !decision.cpus.equals(own)
              ? topology.cores.filter(
                  (core) => core.cpus.overlaps(decision.cpus) && !core.cpus.isSubsetOf(decision.cpus),
                )
              : [],
        }).toEqual({ size: count, strangers: '', poolKeepsItsFloor: true, halfCores: [] });
      },
    ),
    { seed: 20_261_121, numRuns: 2_000 },
  );
});

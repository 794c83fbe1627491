import fc from 'fast-check';
import type { Estimate } from '../../../src/qos/reclaim/estimate';
import { lendable, type LendableInput } from '../../../src/qos/reclaim/lendable';

const GIB = 2 ** 30;
const estimate = (value: number, newest = value): Estimate => ({
  known: true,
  value,
  percentileValue: value,
  newest,
  samples: 1,
});
const UNKNOWN: Estimate = { known: false, because: 'the newest measurement is 45 s old, more than 20 s' };
const share = (percent: number) => ({ percent, because: 'by the option node-resource-reserved' });

type Cpu = NonNullable<LendableInput['cpu']>;
type Memory = NonNullable<LendableInput['memory']>;

/** 32 CPUs, of which 8 are exclusive: 24 in the shared pool, and 4 of these in use. 40 per cent are reserved. */
const CPU: Cpu = {
  allocatableMilli: 32_000,
  reserved: share(40),
  poolUse: estimate(4_000),
  exclusiveCpus: 8,
  sharedPoolCpus: 24,
  exclusiveIdleMilli: 5_000,
  lendExclusiveIdle: false,
};
const MEMORY: Memory = { allocatableBytes: 64 * GIB, reserved: share(25), use: estimate(20 * GIB) };

test.each`
  name                                                         | changed                                                               | milliCpu  | from            | because
  ${'allocatable, less reserved, less needed'}                 | ${{}}                                                                 | ${7_200}  | ${'local'}      | ${/^7\.2 CPUs can be lent: 32 allocatable, less 12\.8 reserved \(by the option node-resource-reserved\), less 12 needed \(4 in the shared pool and 8 of exclusive CPUs\)$/}
  ${'a larger prediction counts'}                              | ${{ predictedMilli: 15_000 }}                                         | ${4_200}  | ${'prediction'} | ${/less 15 needed \(by the prediction\)$/}
  ${'a smaller prediction does not'}                           | ${{ predictedMilli: 3_000 }}                                          | ${7_200}  | ${'local'}      | ${/less 12 needed/}
  ${'nothing is left'}                                         | ${{ poolUse: estimate(20_000) }}                                      | ${0}      | ${'local'}      | ${/^0 CPUs can be lent/}
  ${'never more than the shared pool has free'}                | ${{ reserved: share(0), sharedPoolCpus: 6 }}                          | ${2_000}  | ${'local'}      | ${/; not more than 2, by the shared pool of 6, of which 4 are in use$/}
  ${'a shared pool that is used up lends nothing'}             | ${{ reserved: share(0), sharedPoolCpus: 3 }}                          | ${0}      | ${'local'}      | ${/^0 CPUs can be lent/}
  ${'idle exclusive CPUs can be lent if the operator says so'} | ${{ lendExclusiveIdle: true }}                                        | ${12_200} | ${'local'}      | ${/less 7 needed \(4 in the shared pool and 3 of exclusive CPUs\); 5 idle on exclusive CPUs are lent too$/}
  ${'then they raise the cap too'}                             | ${{ lendExclusiveIdle: true, reserved: share(0), sharedPoolCpus: 6 }} | ${7_000}  | ${'local'}      | ${/not more than 7/}
  ${'idle time that is not known is not lent'}                 | ${{ lendExclusiveIdle: true, exclusiveIdleMilli: undefined }}         | ${7_200}  | ${'local'}      | ${/8 of exclusive CPUs\)$/}
  ${'idle time of CPUs that are no longer exclusive is not'}   | ${{ lendExclusiveIdle: true, exclusiveCpus: 2 }}                      | ${15_200} | ${'local'}      | ${/2 idle on exclusive CPUs/}
  ${'unknown use lends nothing'}                               | ${{ poolUse: UNKNOWN }}                                               | ${0}      | ${'unknown'}    | ${/^no CPU can be lent: .* since the newest measurement is 45 s old/}
  ${'an unknown shared pool lends nothing'}                    | ${{ sharedPoolCpus: undefined }}                                      | ${0}      | ${'unknown'}    | ${/the runtime has not sent its containers yet$/}
`('CPU: $name', ({ changed, milliCpu, from, because }) => {
  const { cpu } = lendable({ cpu: { ...CPU, ...(changed as object) } });
  expect(cpu).toMatchObject({ milliCpu, parts: { from } });
  expect(cpu?.because).toMatch(because);
});

test('the parts add up', () => {
  expect(lendable({ cpu: CPU }).cpu?.parts).toEqual({
    allocatable: 32_000,
    reserved: 12_800,
    needed: 12_000,
    from: 'local',
    cap: 20_000,
  });
});

test.each`
  name                                         | changed                         | gib   | because
  ${'allocatable, less reserved, less needed'} | ${{}}                           | ${28} | ${/^28 GiB can be lent: 64 GiB allocatable, less 16 GiB reserved \(by the option node-resource-reserved\), less 20 GiB needed \(by the local estimate\)$/}
  ${'a larger prediction counts'}              | ${{ predictedBytes: 40 * GIB }} | ${8}  | ${/40 GiB needed \(by the prediction\)/}
  ${'nothing is left'}                         | ${{ use: estimate(50 * GIB) }}  | ${0}  | ${/^0 GiB can be lent/}
  ${'unknown use lends nothing'}               | ${{ use: UNKNOWN }}             | ${0}  | ${/^no memory can be lent/}
`('memory: $name', ({ changed, gib, because }) => {
  const { memory } = lendable({ memory: { ...MEMORY, ...(changed as object) } });
  expect(memory?.bytes).toBe(gib * GIB);
  expect(memory?.because).toMatch(because);
});

test('a resource that is not asked about is not decided', () => {
  expect(lendable({ memory: MEMORY }).cpu).toBeUndefined();
  expect(lendable({ cpu: CPU }).memory).toBeUndefined();
});

const milli = fc.integer({ min: 0, max: 64_000 });
const anyCpu: fc.Arbitrary<Cpu> = fc.record({
  allocatableMilli: milli,
  reserved: fc.integer({ min: 0, max: 100 }).map(share),
  predictedMilli: milli,
  poolUse: fc.tuple(milli, milli).map(([value, newest]) => estimate(Math.max(value, newest), newest)),
  exclusiveCpus: fc.nat(64),
  sharedPoolCpus: fc.nat(64),
  exclusiveIdleMilli: milli,
  lendExclusiveIdle: fc.boolean(),
});
const lentCpu = (cpu: Cpu): number => lendable({ cpu }).cpu!.milliCpu;
const usedMore = ({ poolUse }: Cpu, more: number): Estimate =>
  poolUse.known ? estimate(poolUse.value + more, poolUse.newest + more) : poolUse;

test('over random nodes: a whole number from 0, never above what the pool or the node can give', () => {
  fc.assert(
    fc.property(anyCpu, (cpu) => {
      const lent = lentCpu(cpu);
      const idle = cpu.lendExclusiveIdle ? Math.min(cpu.exclusiveIdleMilli!, 1000 * cpu.exclusiveCpus) : 0;
      const newest = cpu.poolUse.known ? cpu.poolUse.newest : 0;
      expect(Number.isInteger(lent)).toBe(true);
      expect(lent).toBeGreaterThanOrEqual(0);
      expect(lent).toBeLessThanOrEqual(Math.max(0, 1000 * cpu.sharedPoolCpus! - newest + idle));
      expect(lent).toBeLessThanOrEqual(Math.max(0, cpu.allocatableMilli - cpu.predictedMilli!));
    }),
  );
});

test('over random nodes: more use, a higher prediction, more reserved or more exclusive CPUs never lend more', () => {
  fc.assert(
    fc.property(anyCpu, fc.nat(10_000), fc.nat(8), (cpu, more, cpus) => {
      const { predictedMilli = 0, sharedPoolCpus = 0, exclusiveCpus } = cpu;
      const moved = Math.min(cpus, sharedPoolCpus);
      const worse: readonly Cpu[] = [
        { ...cpu, poolUse: usedMore(cpu, more) },
        { ...cpu, poolUse: UNKNOWN },
        { ...cpu, predictedMilli: predictedMilli + more },
        { ...cpu, reserved: share(Math.min(100, cpu.reserved.percent + cpus)) },
        { ...cpu, exclusiveIdleMilli: Math.max(0, cpu.exclusiveIdleMilli! - more) },
        { ...cpu, lendExclusiveIdle: false },
        {
          ...cpu,
          lendExclusiveIdle: false,
          exclusiveCpus: exclusiveCpus + moved,
          sharedPoolCpus: sharedPoolCpus - moved,
        },
      ];
      for (const other of worse) expect(lentCpu(other)).toBeLessThanOrEqual(lentCpu(cpu));
    }),
  );
});

test('over random nodes: memory is a whole number from 0, and more use never lends more', () => {
  const bytes = fc.nat(2 ** 30).map((mib) => mib * 1024);
  fc.assert(
    fc.property(bytes, fc.integer({ min: 0, max: 100 }), bytes, bytes, (allocatableBytes, percent, used, more) => {
      const lent = (value: number): number =>
        lendable({ memory: { allocatableBytes, reserved: share(percent), use: estimate(value) } }).memory!.bytes;
      expect(Number.isInteger(lent(used))).toBe(true);
      expect(lent(used)).toBeGreaterThanOrEqual(0);
      expect(lent(used)).toBeLessThanOrEqual(Math.max(0, allocatableBytes - used));
      expect(lent(used + more)).toBeLessThanOrEqual(lent(used));
    }),
  );
});

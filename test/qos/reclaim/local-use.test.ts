import { measureLocalUse } from '../../../src/qos/reclaim/local-use';
import { metricsOf } from './support/metrics-of';

// A node of 16 CPUs. 4 of them are exclusive, and half idle: 2 in use. 6 are in use in the shared pool, 2.5 of these by
// pods with gocrane.io/cpu.
const MEASURED = {
  cpu_total_usage: 8_000,
  exclusive_cpu_idle: 2_000,
  ext_res_container_cpu_total_usage: 2.5,
  memory_total_usage: 10e9,
  ext_res_container_mem_total_usage: 3e9,
};
const { exclusive_cpu_idle: _idle, ...WITHOUT_IDLE } = MEASURED;
const { ext_res_container_cpu_total_usage: _lent, ...WITHOUT_LENT } = MEASURED;

test.each`
  name                                                       | metrics                                                   | exclusiveCpus | localMilli | poolMilli | idle
  ${'all use, plus idle exclusive CPUs, less lent use'}      | ${MEASURED}                                               | ${4}          | ${7_500}   | ${3_500}  | ${2_000}
  ${'without exclusive CPUs'}                                | ${{ ...MEASURED, exclusive_cpu_idle: 0 }}                 | ${0}          | ${5_500}   | ${5_500}  | ${0}
  ${'without the idle time, exclusive CPUs may all be idle'} | ${WITHOUT_IDLE}                                           | ${4}          | ${9_500}   | ${5_500}  | ${undefined}
  ${'without lent use, all use is needed'}                   | ${WITHOUT_LENT}                                           | ${4}          | ${10_000}  | ${6_000}  | ${2_000}
  ${'more idle time than CPUs is bounded'}                   | ${{ ...MEASURED, exclusive_cpu_idle: 9_000 }}             | ${4}          | ${9_500}   | ${5_500}  | ${4_000}
  ${'lent use of another moment can not make it negative'}   | ${{ ...MEASURED, cpu_total_usage: 1_000 }}                | ${4}          | ${500}     | ${0}      | ${2_000}
  ${'a negative figure is none'}                             | ${{ ...MEASURED, ext_res_container_cpu_total_usage: -1 }} | ${4}          | ${10_000}  | ${6_000}  | ${2_000}
`('CPU: $name', ({ metrics, exclusiveCpus, localMilli, poolMilli, idle }) => {
  const { cpu } = measureLocalUse(metricsOf(metrics), { exclusiveCpus, maxAgeMs: 20_000 });
  expect(cpu).toEqual({
    atMs: 0,
    localMilli,
    poolMilli,
    ...(idle !== undefined && { exclusiveIdleMilli: idle }),
  });
});

test('memory: all use, less lent use, in bytes', () => {
  const { memory } = measureLocalUse(metricsOf(MEASURED), { exclusiveCpus: 4, maxAgeMs: 20_000 });
  expect(memory).toEqual({ atMs: 0, bytes: 7e9 });
});

test('lent use that is older than the use of the node is not taken off it', () => {
  const metrics = new Map([
    ...metricsOf(MEASURED, 60_000),
    ...metricsOf({ ext_res_container_cpu_total_usage: 2.5, ext_res_container_mem_total_usage: 3e9 }, 30_000),
  ]);
  const use = measureLocalUse(metrics, { exclusiveCpus: 4, maxAgeMs: 20_000 });
  expect([use.cpu?.localMilli, use.memory?.bytes]).toEqual([10_000, 10e9]);
});

test('without the use of the node nothing is known', () => {
  const metrics = metricsOf({ exclusive_cpu_idle: 1, ext_res_container_cpu_total_usage: 1 });
  expect(measureLocalUse(metrics, { exclusiveCpus: 4, maxAgeMs: 20_000 })).toEqual({});
});

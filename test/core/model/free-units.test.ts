import { parseCpuList } from '../../../src/core/cpuset';
import { countFreeUnits } from '../../../src/core/model/free-units';
import { build } from '../../cli/topology/machines';
import { settingsWith } from '../transition/node-driver';

/**
 * 2 sockets of one NUMA node with two caches of 2 cores of 2 CPUs each: siblings are c and c + 8. CPU 0 is reserved.
 */
const topology = build(2, 1, 2, 2, 2);
const count = (free: string, reserved = '0') =>
  countFreeUnits({ topology, settings: settingsWith({ reserved }), free: parseCpuList(free) });

test('a machine on which everything is free: a unit is free when all of it that can be given out is', () => {
  expect(count('1-15')).toEqual({
    cpus: 15,
    cores: 7, // not core 0, half of which is reserved
    uncoreCaches: 4,
    numaNodes: 2,
    largestInCores: 14,
    largestInCache: 4,
    largestInNode: 8,
    fragmentation: 1 / 15,
  });
});

test('half cores are fragments', () => {
  expect(count('1,2,3,9')).toMatchObject({
    cpus: 4,
    cores: 1,
    uncoreCaches: 0,
    numaNodes: 0,
    largestInNode: 4,
    fragmentation: 0.5,
  });
});

test('free CPUs in two nodes: the larger part counts', () => {
  expect(count('1,9,4,12,5')).toMatchObject({
    cores: 2,
    largestInCores: 4,
    largestInCache: 3,
    largestInNode: 3,
    fragmentation: 1 / 5,
  });
});

test('no free CPU', () => {
  expect(count('')).toEqual({
    cpus: 0,
    cores: 0,
    uncoreCaches: 0,
    numaNodes: 0,
    largestInCores: 0,
    largestInCache: 0,
    largestInNode: 0,
    fragmentation: 0,
  });
});

test('a unit that is wholly reserved is none', () => {
  expect(count('2-7,10-15', '0-1,8-9')).toMatchObject({ uncoreCaches: 3, numaNodes: 2 });
});

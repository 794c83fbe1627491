import { buildTopology } from '../../../src/core/topology';
import { build, recorded, without, type Scene } from './machines';

/** 8 cores of two threads with adjacent numbers, then 8 cores of one thread. */
const HYBRID = buildTopology({
  cpus: Array.from({ length: 24 }, (_, id) => {
    return { id, core: id < 16 ? id >> 1 : id, socket: 0, numaNode: 0, uncoreCache: 0 };
  }),
});

/** Containers of one CPU each, beginning at this CPU. */
function singles(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `p${i}/c ${from + i}`);
}

/** One scene for each kind of machine and of owner that looks different. */
export const SCENES: Readonly<Record<string, Scene>> = {
  'eight-cpus': { topology: build(1, 1, 1, 4, 2, 16), reserved: '0', owners: ['db/postgres 1,5'] },
  'every-kind-of-owner': {
    topology: build(2, 1, 1, 4, 2, 8),
    reserved: '0,8',
    owners: [
      'db/postgres 1-2,9-10',
      'job/init 3 idle',
      'cache/redis 5 immovable',
      'web/front 6,14 exclusive pod',
      'web/back 6,14 exclusive pod',
      'batch/worker 1 numa',
    ],
  },
  'strict-reservation': { topology: build(1, 1, 1, 4, 2), reserved: '0,4', strict: true },
  offline: {
    topology: without(build(1, 1, 1, 4, 2), '2-3,7'),
    offline: '2-3,7',
    reserved: '0',
    owners: ['db/postgres 2,6'],
  },
  'siblings-side-by-side': {
    topology: without(recorded('2x4x2-2numa-interleaved'), '5'),
    offline: '5',
    reserved: '0-1',
  },
  'cores-of-two-kinds': { topology: HYBRID, reserved: '0-1', owners: ['db/postgres 2-5,16'] },
  'four-sockets': {
    topology: recorded('4x8x2-4numa-64'),
    reserved: '0-1,32-33',
    owners: ['db/postgres 8-15,40-47', 'job/init 16,48 idle'],
  },
  'node-without-cpus': { topology: recorded('2x4x1-memless-cpuless'), reserved: '0' },
  isolated: { topology: recorded('2x4x2-2numa-isolcpus'), reserved: '0,8' },
  'siblings-far-apart': { topology: recorded('2x4x2-2numa-bare-metal-order'), reserved: '0-1' },
  'four-caches': { topology: recorded('1x16x2-4l3-ccx'), reserved: '0,16', owners: ['db/postgres 4-7,20-23'] },
  'one-large-cache': { topology: build(1, 1, 1, 64, 2), reserved: '0,64', owners: ['db/postgres 8-15,72-79'] },
  'sockets-in-turns': {
    topology: buildTopology({
      cpus: Array.from({ length: 112 }, (_, id) => {
        return { id, core: id % 56, socket: id % 2, numaNode: id % 2, uncoreCache: id % 2 };
      }),
    }),
    reserved: '0-1',
    owners: ['db/postgres 4,6,60,62'],
  },
  'many-owners': { topology: build(2, 1, 6, 8, 2), reserved: '0,96', owners: singles(1, 30) },
  'eight-nodes': {
    topology: build(2, 4, 3, 8, 2, 96),
    reserved: '0-1,96-97,192-193,288-289',
    owners: ['db/postgres 8-23,200-215', 'job/init 24-31,216-223 idle', 'ml/train 98-143,290-335'],
  },
  'two-large-nodes': {
    topology: build(2, 1, 12, 8, 2, 768),
    reserved: '0-1,96-97,192-193,288-289',
    owners: ['db/postgres 8-23,200-215', 'ml/train 98-119,290-311'],
  },
};

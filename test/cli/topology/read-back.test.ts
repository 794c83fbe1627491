import fc from 'fast-check';

import { parseCpuList } from '../../../src/core/cpuset';
import { drawMap, MAP_WIDTH } from '../../../src/cli/topology/draw-map';
import { findUse, viewStatus, type MachineView } from '../../../src/admin/machine/machine-view';
import { buildTopology } from '../../../src/core/topology';
import { build, statusOf, without } from './machines';
import { SCENES } from './scenes';

/** A row of the map: CPU numbers, then their marks. */
const ROW = /(?<![\w.,#-])(\d+,\d+\.\.\d+|\d[\d,-]*) {2}([A-Za-z.# |]+)/g;

/** The mark of each CPU in the map. Throws if the map has a CPU twice. */
function readMap(map: string, markLength: number): Map<number, string> {
  const marks = new Map<number, string>();
  const note = (cpu: number, mark: string): void => {
    if (marks.has(cpu)) throw new Error(`CPU ${cpu} is drawn twice`);
    marks.set(cpu, mark);
  };
  const mark = markLength === 1 ? '[A-Za-z.#]' : `[A-Za-z]{${markLength}}|[x.#]`;
  for (const line of map.split('\n').filter((text) => !text.includes('socket'))) {
    const rows = [...line.matchAll(ROW)];
    for (const [, numbers, row] of rows) {
      const cpus = expand(numbers!);
      const drawn = row!.match(new RegExp(mark, 'g')) ?? [];
      if (drawn.length !== cpus.length) throw new Error(`${drawn.length} marks for ${numbers!}: ${line}`);
      cpus.forEach((cpu, i) => note(cpu, drawn[i]!));
    }
    if (rows.length > 0) continue;
    for (const [, cpu, drawn] of line.matchAll(new RegExp(`(\\d+)(${mark})`, 'g'))) note(Number(cpu), drawn!);
  }
  return marks;
}

/** `0-3,8` or `0,2..46`. */
function expand(numbers: string): number[] {
  const [, first, second, last] = /^(\d+),(\d+)\.\.(\d+)$/.exec(numbers) ?? [];
  if (last === undefined) return parseCpuList(numbers).toArray();
  const step = Number(second) - Number(first);
  return Array.from({ length: (Number(last) - Number(first)) / step + 1 }, (_, i) => Number(first) + i * step);
}

function expectExact(view: MachineView): void {
  const map = drawMap(view);
  expect(Math.max(...map.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(MAP_WIDTH);
  const marks = readMap(map, Math.max(1, ...view.owners.map(({ mark }) => mark.length)));
  const marked = new Map([...marks].filter(([cpu]) => view.topology.online.has(cpu)).sort(([a], [b]) => a - b));
  expect(marked).toEqual(new Map(view.topology.online.toArray().map((cpu) => [cpu, findUse(view, cpu).mark])));
  for (const [cpu, mark] of marks) if (!view.topology.online.has(cpu)) expect([cpu, mark]).toEqual([cpu, 'x']);
}

test.each(Object.entries(SCENES))('the map of %s has every CPU once, with its mark', (_name, scene) => {
  expectExact(viewStatus(statusOf(scene)));
});

const anyScene = fc
  .record({
    sockets: fc.integer({ min: 1, max: 2 }),
    nodes: fc.integer({ min: 1, max: 4 }),
    caches: fc.integer({ min: 1, max: 4 }),
    cores: fc.integer({ min: 1, max: 16 }),
    threads: fc.constantFrom(1, 2, 2, 4),
    scatter: fc.constantFrom('none', 'none', 'reversed', 'shuffled'),
    seed: fc.array(fc.nat(1_000), { minLength: 8, maxLength: 60 }),
    gone: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ sockets, nodes, caches, cores, threads, scatter, seed, gone }) => {
    const regular = build(sockets, nodes, caches, cores, threads);
    const size = regular.cpus.length;
    const numberOf = (id: number): number =>
      scatter === 'reversed' ? size - 1 - id : scatter === 'shuffled' ? (id * 7 + seed[0]!) % size : id;
    // A multiplication by 7 is a permutation unless 7 divides the size.
    const whole =
      scatter === 'none' || size % 7 === 0
        ? regular
        : buildTopology({ cpus: regular.cpus.map((cpu) => ({ ...cpu, id: numberOf(cpu.id) })) });
    const offline = [...new Set(seed.slice(0, gone).map((n) => n % size))].filter(() => size > 3);
    const topology = offline.length === 0 ? whole : without(whole, offline.join());
    const owned = new Set<number>();
    const owners = seed.flatMap((n, i) => {
      const cpu = n % size;
      if (owned.has(cpu)) return [];
      owned.add(cpu);
      return [`p${i}/c ${cpu}${i % 3 === 0 ? ' idle' : ''}`];
    });
    return { topology, offline: offline.join(), owners, reserved: '0' };
  });

test('the map of a random machine with random owners has every CPU once and fits the width', () => {
  fc.assert(
    fc.property(anyScene, (scene) => expectExact(viewStatus(statusOf(scene)))),
    { seed: 20_261_121, numRuns: 100 },
  );
});

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { CgroupFiles, type WriteOutcome } from '../../../src/host/cgroup/cgroup-file';
import { CpusetFiles } from '../../../src/host/cgroup/cpuset-files';
import { InnerCpusets } from '../../../src/host/cgroup/inner-cpusets';
import { TreeTime } from '../../../src/host/cgroup/tree-time';
import { writeCpuset } from '../../../src/host/cgroup/write-cpuset';
import { createRandom, type Random } from '../../support/random';

const ALL = parseCpuList('0-7');

let root: string;
beforeEach(() => (root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'inner-'))));
afterEach(() => rmSync(root, { recursive: true }));

/**
 * Plain files with the two rules of version 1: a cgroup has no CPU that its parent lacks, and all that its children
 * have.
 */
class Kernel extends CgroupFiles {
  refusals = 0;

  override write(path: string, value: string): WriteOutcome {
    const directory = dirname(path);
    const list = parseCpuList(value);
    const parent = join(dirname(directory), 'cpuset.cpus');
    const fits = !existsSync(parent) || list.isSubsetOf(parseCpuList(readFileSync(parent, 'utf8')));
    const holds = listDirectories(directory).every((child) => listOf(child).isSubsetOf(list));
    if (!fits || !holds) {
      this.refusals++;
      return { kind: 'refused', errno: fits ? 'EBUSY' : 'EACCES', because: path };
    }
    writeFileSync(path, value);
    return { kind: 'ok', changed: true };
  }
}

/** Time for a number of cgroups. */
class Steps extends TreeTime {
  left = Infinity;

  override spend<T>(work: (isOver: () => boolean) => T): T {
    return work(() => this.left-- <= 0);
  }
}

function listDirectories(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}

function listOf(directory: string): CpuSet {
  return parseCpuList(readFileSync(join(directory, 'cpuset.cpus'), 'utf8'));
}

function open() {
  const [files, time] = [new Kernel(), new Steps()];
  const roots = { cpusetRoot: root, cpuRoot: root, cpuacctRoot: undefined, memoryRoot: undefined, hasHugetlb: false };
  const cpusets = new CpusetFiles(files, { version: 1, ...roots }, time);
  const container = join(root, 'c');
  const make = (below: string, list: CpuSet): void => {
    mkdirSync(container + below);
    writeFileSync(join(container + below, 'cpuset.cpus'), list.toString());
  };
  make('', ALL);
  const move = (list: CpuSet, left = Infinity): string => {
    time.left = left;
    const outcome = writeCpuset(cpusets, container, { cpus: list });
    return outcome.kind === 'refused' ? outcome.errno : outcome.kind;
  };
  const show = (below: string): string => listOf(container + below).toString();
  return { files, inner: cpusets.inner, make, move, show };
}

/** Some of these CPUs, at least one. */
function pickSome(random: Random, cpus: CpuSet): CpuSet {
  const some = CpuSet.of([...cpus].filter(() => random.chance(0.5)));
  return some.isEmpty ? cpus : some;
}

/** Makes up to three cgroups at each level, some with all CPUs of their parent; returns the list of each. */
function makeTree(random: Random, make: (below: string, list: CpuSet) => void): Map<string, string> {
  const lists = new Map<string, string>();
  const makeBelow = (parent: string, all: CpuSet, depth: number): void => {
    for (let i = random.int(1, 3); i > 0; i--) {
      const [below, list] = [`${parent}/n${i}`, random.chance(0.4) ? all : pickSome(random, all)];
      make(below, list);
      lists.set(below, list.toString());
      if (depth > 1) makeBelow(below, list, depth - 1);
    }
  };
  makeBelow('', ALL, 3);
  return lists;
}

test('moves that were not finished: cgroups in the container have their lists again in the end, and nothing is remembered', () => {
  let unfinished = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const random = createRandom(seed);
    const { files, inner, make, move, show } = open();
    const lists = makeTree(random, make);
    for (let moves = random.int(1, 5); moves > 0; moves--)
      if (move(pickSome(random, ALL), random.chance(0.6) ? random.int(0, 4) : Infinity) === 'ETIME') unfinished++;
    expect(move(ALL)).toBe('ok');
    expect([seed, new Map([...lists.keys()].map((below) => [below, show(below)]))]).toEqual([seed, lists]);
    expect([inner.lists, inner.isEmpty, files.refusals]).toEqual([[], true, 0]);
    rmSync(join(root, 'c'), { recursive: true });
  }
  expect(unfinished).toBeGreaterThan(100);
});

test('a move that was not finished is finished even if the container has the right list meanwhile', () => {
  const { make, move, show } = open();
  for (const below of ['/a', '/b']) make(below, ALL);
  expect([move(parseCpuList('0'), 1), show(''), show('/a'), show('/b')]).toEqual(['ETIME', '0-7', '0', '0-7']);
  expect([move(ALL), show(''), show('/a'), show('/b')]).toEqual(['ok', '0-7', '0-7', '0-7']);
});

test('cgroups that are gone are forgotten, and leave room for others', () => {
  const inner = new InnerCpusets();
  const fill = (name: string): void => {
    for (let i = 0; i < 300; i++)
      inner.remember({ container: '/c', file: `/c/${name}${i}`, own: ALL, given: parseCpuList('0') });
  };
  fill('a');
  for (let i = 0; i < 300; i++) inner.noteUnfinished(`/c/${i}`, '/c', ALL, parseCpuList('0'));
  expect([inner.lists.length, inner.isUnfinished('/c/255'), inner.isUnfinished('/c/256')]).toEqual([256, true, false]);
  inner.keepOnly(() => false);
  expect([inner.lists, inner.isEmpty]).toEqual([[], true]);
  fill('b');
  expect(inner.lists).toHaveLength(256);
});

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import { CgroupFiles, CHANGED, type WriteOutcome } from '../../../src/host/cgroup/cgroup-file';
import { CpusetFiles } from '../../../src/host/cgroup/cpuset-files';
import { TREE_MS, TreeTime } from '../../../src/host/cgroup/tree-time';
import { writeCpuset } from '../../../src/host/cgroup/write-cpuset';

const CHILDREN = 900;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cpusetd-t-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const textOf = (folder: string): string => readFileSync(join(folder, 'cpuset.cpus'), 'utf8').trim();
const childrenOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [join(folder, each.name)] : []));

/**
 * Behaves like version 1: a parent can't give up a CPU that a child has. Each write takes a millisecond of the clock.
 */
class SlowKernel extends CgroupFiles {
  nowMs = 1_000;

  override write(path: string, value: string): WriteOutcome {
    this.nowMs += 1;
    const list = parseCpuList(value);
    const isHeld = childrenOf(dirname(path)).some((child) => !parseCpuList(textOf(child)).isSubsetOf(list));
    if (isHeld) return { kind: 'refused', errno: 'EBUSY', because: 'a child has it' };
    writeFileSync(path, `${value}\n`);
    return CHANGED;
  }
}

function makeContainer(name: string, children = CHILDREN): string {
  const folder = join(root, name);
  for (const each of [folder, ...Array.from({ length: children }, (_, i) => join(folder, `d${i}`))]) {
    mkdirSync(each);
    writeFileSync(join(each, 'cpuset.cpus'), '0-1\n');
  }
  return folder;
}

test('containers with 900 child cgroups each are moved within the time limit per second, and all in the end', () => {
  const kernel = new SlowKernel();
  const files = new CpusetFiles(kernel, { version: 1, cpusetRoot: root } as never, new TreeTime(() => kernel.nowMs));
  const containers = ['a', 'b', 'c'].map((name) => makeContainer(name));
  const round = (): readonly string[] =>
    containers.map((folder) => {
      const outcome = writeCpuset(files, folder, { cpus: parseCpuList('0') });
      return outcome.kind === 'refused' ? outcome.errno : outcome.kind;
    });

  const begunMs = kernel.nowMs;
  expect(round()).toEqual(['ETIME', 'ETIME', 'ETIME']);
  expect(kernel.nowMs - begunMs).toBeLessThanOrEqual(TREE_MS + 10);

  let rounds = 1;
  for (; containers.some((folder) => textOf(folder) !== '0'); rounds++) {
    expect(rounds).toBeLessThan(2 * ((3 * CHILDREN) / TREE_MS));
    kernel.nowMs += 1_000;
    round();
  }
  expect(
    containers
      .flatMap(childrenOf)
      .filter((child) => textOf(child) !== '0')
      .map((path) => basename(path)),
  ).toEqual([]);
});

test('containers with very many cgroups leave time for one with some, in the same round', () => {
  const kernel = new SlowKernel();
  const files = new CpusetFiles(kernel, { version: 1, cpusetRoot: root } as never, new TreeTime(() => kernel.nowMs));
  const move = (folder: string): string => writeCpuset(files, folder, { cpus: parseCpuList('0') }).kind;
  const [big, other, small] = [makeContainer('a'), makeContainer('b'), makeContainer('c', 10)];
  expect([big, other, small].map(move)).toEqual(['refused', 'refused', 'ok']);
});

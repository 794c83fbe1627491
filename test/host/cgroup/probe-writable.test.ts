import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { probeWritable } from '../../../src/host/cgroup/probe-writable';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'probe-'))));
afterEach(() => rmSync(root, { recursive: true }));

/** Makes a cgroup with a cpuset file that is writable, a folder instead of one, or none. */
function make(name: string, file: 'writable' | 'unwritable' | 'none'): void {
  mkdirSync(join(root, name));
  if (file === 'writable') writeFileSync(join(root, name, 'cpuset.cpus'), '');
  if (file === 'unwritable') mkdirSync(join(root, name, 'cpuset.cpus'));
}

test('a writable file of a child is enough', () => {
  make('a', 'writable');
  expect(probeWritable(root)).toEqual({ writable: true });
});

test('the cgroup of the kubelet is tried first, and its error is the reason with the remedy', () => {
  make('a', 'writable');
  make('kubepods.slice', 'unwritable');
  expect(probeWritable(root)).toEqual({
    writable: false,
    because: expect.stringMatching(
      /kubepods\.slice\/cpuset\.cpus cannot be opened for writing \(EISDIR\).* --cgroup-writes off$/,
    ),
  });
});

test('children without a cpuset file are skipped, and without any child the root decides', () => {
  make('a', 'none');
  expect(probeWritable(root)).toEqual({ writable: true });
});

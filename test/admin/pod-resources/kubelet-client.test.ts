import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createKubeletResources } from '../../../src/admin/pod-resources/kubelet-client';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'kubelet-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test('without a socket the answers are undefined', async () => {
  const resources = createKubeletResources(join(folder, 'none.sock'));
  expect([await resources.list(), await resources.allocatable()]).toEqual([undefined, undefined]);
});

test('a socket that does not answer is UNAVAILABLE', async () => {
  const path = join(folder, 'dead.sock');
  writeFileSync(path, '');
  await expect(createKubeletResources(path).list()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('callers before the call is sent share its answer', async () => {
  const { list } = createKubeletResources(join(folder, 'none.sock'));
  const [first, second] = [list(), list()];
  expect(first).toBe(second);
  await first;
  expect(list()).not.toBe(first);
});

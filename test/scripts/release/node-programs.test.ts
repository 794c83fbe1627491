import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScript } from '../../support/load-script';

interface NodePrograms {
  readonly releaseNode: string;
  readonly testedNodes: readonly string[];
  ensureNode(version: string, options: { env: NodeJS.ProcessEnv; arch: string }): string;
}

let script: NodePrograms;
let folder: string;
let cache: string;
beforeAll(async () => {
  script = await loadScript<NodePrograms>('release/node-programs.mjs');
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'node-programs-'));
  cache = join(folder, 'cache');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Calls it with a stand-in for npm, which stores a package with other content. */
function ensureFromForger(version: string): string {
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/npm'), '#!/bin/sh\necho forged > node.tgz\n', { mode: 0o755 });
  const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, CPUSETD_CACHE: cache };
  return script.ensureNode(version, { env, arch: 'x64' });
}

test('a package with another digest is refused, and nothing of it stays in the cache', () => {
  expect(() => ensureFromForger('24')).toThrow(
    `the package of Node ${script.releaseNode} for x64 is not the one that this project knows`,
  );
  expect(readdirSync(cache)).toEqual([`node-${script.releaseNode}-x64.lock`]);
});

test('a version without a digest is refused before anything is fetched', () => {
  expect(() => ensureFromForger('18')).toThrow(`no Node 18; there are ${script.testedNodes.join(', ')}`);
});

test('the cache is asked first', () => {
  const place = join(cache, `node-${script.releaseNode}-x64`);
  mkdirSync(place, { recursive: true });
  expect(ensureFromForger(script.releaseNode)).toBe(place);
});

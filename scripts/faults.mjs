// npm run e2e:faults: the faults that the tests inject, with the expected and the observed behaviour, as a table.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildAll } from './build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await buildAll({ onlyIfStale: true });
const jest = [
  '--no-install',
  'jest',
  '--selectProjects',
  'e2e',
  '--runInBand',
  '--testPathPatterns',
  'test/e2e/faults/',
];
const { status } = spawnSync('npx', jest, { stdio: 'inherit', cwd: root });
process.exitCode = status ?? 1;

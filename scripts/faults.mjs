// npm run e2e:faults: the faults that the tests inject, with the expected and the observed behaviour, as a table.
import { fileURLToPath } from 'node:url';
import { buildAll } from './build.mjs';
import { runChild } from './shared/run-child.mjs';

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
const { status } = await runChild('npx', jest, { cwd: root });
process.exitCode = status ?? 1;

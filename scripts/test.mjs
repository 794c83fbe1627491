// npm test: all set-up, then everything: generated code, format, lint, types, unit and conformance tests, the end-to-end
// tests on real containerds, and the claims in emulated machines. Outside CI a missing prerequisite of the latter two skips
// them loudly; with CI=true it fails.
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { ensureDependencies } from './ensure-dependencies.mjs';

const root = new URL('..', import.meta.url).pathname;
const started = performance.now();
ensureDependencies(root);

const steps = [
  ['generated code is what proto/ generates', 'npm', ['run', '--silent', 'gen:check']],
  ['format', 'npm', ['run', '--silent', 'format:check']],
  ['lint', 'npm', ['run', '--silent', 'lint']],
  ['types', 'npm', ['run', '--silent', 'types']],
  ['build', 'npm', ['run', '--silent', 'build']],
  ['unit and conformance tests', 'npx', ['--no-install', 'jest', '--selectProjects', 'unit', 'conformance']],
  ['end-to-end tests on real containerd', 'npx', ['--no-install', 'jest', '--selectProjects', 'e2e', '--runInBand']],
  ['claims in emulated machines', 'node', ['scripts/machines/run.mjs'], { missing: 2 }],
  ['benches of the promise, quick: do they work', 'node', ['scripts/bench-quick.mjs']],
  ['soak: three minutes of churn, tampering and crashes', 'node', ['scripts/soak.mjs', '--minutes', '3']],
];

for (const [what, command, args, { missing } = {}] of steps) {
  const from = performance.now();
  console.error(`\n=== ${what}`);
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  if (status !== 0 && status === missing && !process.env.CI) {
    console.error(`=== SKIPPED: ${what}, since a prerequisite is missing; see above`);
    continue;
  }
  if (status !== 0) {
    console.error(`\n=== FAILED after ${seconds} s: ${what} (${error?.message ?? signal ?? `exit status ${status}`})`);
    process.exit(1);
  }
  console.error(`=== ok, ${seconds} s: ${what}`);
}
console.error(`\n=== all of it passed in ${((performance.now() - started) / 1000).toFixed(0)} s`);

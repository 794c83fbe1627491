// npm run soak -- [--rounds N | --minutes N] [--seed S] [--suite trixie|sid|release]: churn on a real containerd,
// checked against the files of the kernel.
import { fileURLToPath } from 'node:url';
import { buildAll } from './build.mjs';
import { findMissingPrerequisite } from './runtime/debian-root.mjs';
import { bundleAndRun } from './shared/bundle.mjs';
import { endNotRun } from './test-run/results.mjs';

const missing = findMissingPrerequisite('trixie');
if (missing !== undefined) endNotRun('soak on a real containerd', missing);

const root = fileURLToPath(new URL('..', import.meta.url));
await buildAll({ onlyIfStale: true });
const args = process.argv.slice(2);
const { status } = await bundleAndRun(root, { entry: 'test/soak/main.ts', name: 'soak', args });
process.exitCode = status ?? 1;

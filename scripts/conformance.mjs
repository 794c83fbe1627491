// `npm run conformance`: compares decisions of cpusetd with those of the kubelet's own code, on real and random
// machines.
//
//   node scripts/conformance.mjs [--decisions N] [--seed N]     1,000,000 decisions and seed 1 unless told otherwise
//
// It prints the counts, and ends with 1 when a difference is of no kind of docs/conformance.md. It needs Go and a
// module proxy.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { ensureGoPrograms } from './go-programs/build.mjs';
import { nodeBundle } from './shared/bundle.mjs';
import { logToStderr } from './shared/log.mjs';
import { runChild } from './shared/run-child.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: { decisions: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } },
});
const [decisions, seed] = [readWhole('decisions', values.decisions), readWhole('seed', values.seed)];
const { dir } = ensureGoPrograms('kubelet-oracle', { log: logToStderr });
mkdirSync(join(root, 'dist'), { recursive: true });
const scratch = mkdtempSync(join(root, 'dist/conformance-'));
try {
  const bundle = join(scratch, 'main.js');
  await build({
    ...nodeBundle,
    absWorkingDir: root,
    entryPoints: ['test/conformance/kubelet/main.ts'],
    outfile: bundle,
    // Fixtures are found from the folder of their reader.
    define: { __dirname: JSON.stringify(join(root, 'test/conformance')) },
  });
  const { status } = await runChild(process.execPath, [bundle, dir, `${decisions}`, `${seed}`], { cwd: root });
  process.exitCode = status ?? 1;
} finally {
  rmSync(scratch, { recursive: true });
}

/**
 * @param {string} name
 * @param {string} text
 * @returns {number}
 */
function readWhole(name, text) {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  console.error(`--${name} ${text}: not a whole number from 1 to 999,999,999`);
  process.exit(2);
}

// Bundles bench/NAME.ts, as the build bundles the service, into a scratch folder and runs it: node bench/run.mjs NAME
// [arguments] The folder is inside the project, so that a bundle finds the project's other files from where it is. A
// bench that needs a second process finds the bundles of all bench files named NAME-*.ts beside its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { packLate } from '../scripts/pack-late.mjs';
import { nodeBundle } from '../scripts/shared/bundle.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const benches = readdirSync(folder).flatMap((name) => (name.endsWith('.ts') ? [name.slice(0, -3)] : []));
const [name = '', ...rest] = process.argv.slice(2);
if (!benches.includes(name)) {
  console.error(`usage: node bench/run.mjs NAME [arguments]; NAME is one of: ${benches.join(', ')}`);
  process.exit(2);
}

mkdirSync(join(folder, '../dist'), { recursive: true });
const scratch = mkdtempSync(join(folder, '../dist/bench-'));
try {
  const options = { ...nodeBundle, absWorkingDir: join(folder, '..') };
  await build({
    ...options,
    entryPoints: benches
      .filter((each) => each === name || each.startsWith(`${name}-`))
      .map((each) => `bench/${each}.ts`),
    outdir: scratch,
    // A part of the tests' rigs bundles a script when it is used: esbuild itself can't be inside a bundle.
    external: ['esbuild'],
    // Node with the daemon's libraries alone has them as the daemon has them.
    plugins: name === 'nri-start' ? [packLate(options)] : [],
  });
  const bench = spawn(process.execPath, [join(scratch, `${name}.js`), ...rest], { stdio: 'inherit' });
  // A bench ends what it started; this process waits for that, and removes the bundle.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => bench.kill(signal));
  const [status] = await once(bench, 'close');
  process.exitCode = status ?? 1;
} finally {
  rmSync(scratch, { recursive: true });
}

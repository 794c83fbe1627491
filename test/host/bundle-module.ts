import { buildSync } from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Bundles a module of src/host into one JavaScript file that another process can `require`. */
export function bundleModule(name: string): { readonly file: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  const file = join(folder, 'module.js');
  buildSync({
    entryPoints: [join(__dirname, '../../src/host', name)],
    bundle: true,
    platform: 'node',
    target: 'node20',
    outfile: file,
    logLevel: 'error',
  });
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

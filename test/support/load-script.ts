import { buildSync } from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Loads a module of scripts/. Jest can't load it by itself, because scripts are ES modules that need no packages. */
export async function loadScript<Module>(name: string): Promise<Module> {
  const folder = mkdtempSync(join(tmpdir(), 'script-'));
  try {
    const outfile = join(folder, 'script.js');
    const entryPoints = [join(__dirname, '../../scripts', name)];
    buildSync({ entryPoints, bundle: true, platform: 'node', target: 'node20', outfile, logLevel: 'error' });
    return (await import(outfile)) as Module;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

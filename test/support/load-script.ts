import { buildSync } from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A module of scripts/, which jest itself can't load: they are ES modules for a Node without anything installed. */
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

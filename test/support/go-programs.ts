import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../e2e/rig/project-root';

/** The outcome of a build of programs. */
export type GoPrograms =
  | { readonly ok: true; readonly folder: string }
  /** `isPossible`: this machine has Go and a way to the modules, and the build failed all the same. */
  | { readonly ok: false; readonly isPossible: boolean; readonly why: string };

/** The exit status of build.mjs on a machine that cannot build them. */
const statusCannotBuild = 3;

/** Builds the programs of a module of scripts/go-programs when the cache does not have them. */
export function buildGoPrograms(module: string): GoPrograms {
  const script = join(projectRoot(), 'scripts/go-programs/build.mjs');
  const done = spawnSync(process.execPath, [script, module], { encoding: 'utf8' });
  if (done.status === 0) return { ok: true, folder: done.stdout.trim().split(': ').at(-1) ?? '' };
  const why = done.stderr.trim().split('\n').at(-1) ?? '';
  return { ok: false, isPossible: done.status !== statusCannotBuild, why };
}

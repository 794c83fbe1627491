import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type Define, listAsNotRun, missing } from './missing';
import { projectRoot } from './project-root';

/**
 * The folder with the programs of a module of scripts/go-programs, built when the cache does not have them, and `describe` for tests that need
 * them: without Go, or a way to its modules, they are listed as not run.
 */
export function requireGoPrograms(module: string): { readonly programs: string; readonly define: Define } {
  const script = join(projectRoot(), 'scripts/go-programs/build.mjs');
  const done = spawnSync(process.execPath, [script, module], { encoding: 'utf8' });
  if (done.status === 0) return { programs: done.stdout.trim().split(': ').at(-1) ?? '', define: describe };
  const why = done.stderr.trim().split('\n').at(-1) ?? '';
  const what = `the programs of ${module}`;
  return { programs: '', define: (done.status === statusCannotBuild ? listAsNotRun : missing)(what, why) };
}

/** The exit status of build.mjs on a machine that cannot build them. */
const statusCannotBuild = 3;

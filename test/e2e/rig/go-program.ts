import { buildGoPrograms } from '../../support/go-programs';
import { type Define, listAsNotRun, missing } from './missing';

/**
 * The folder with the programs of a module of scripts/go-programs, built when the cache does not have them, and
 * `describe` for tests that need them: without Go, or a way to its modules, they are listed as not run.
 */
export function requireGoPrograms(module: string): { readonly programs: string; readonly define: Define } {
  const built = buildGoPrograms(module);
  if (built.ok) return { programs: built.folder, define: describe };
  const what = `the programs of ${module}`;
  return { programs: '', define: (built.isPossible ? missing : listAsNotRun)(what, built.why) };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findContradictions, type ShownRow } from '../../support/contradictions';
import { bundle, type Daemon } from './daemon';

const run = promisify(execFile);

/**
 * Reads what `cpusetd status -o json` prints of this daemon.
 *
 * @throws when a row of it contradicts itself: every look of every test proves that none does
 */
export async function readStatus(daemon: Daemon): Promise<unknown> {
  const args = [bundle, 'status', '-o', 'json', '--admin-socket', daemon.adminSocket];
  const { stdout } = await run(process.execPath, args);
  const status = JSON.parse(stdout) as { readonly containers: readonly ShownRow[] };
  const broken = daemon.isOtherVersion ? [] : findContradictions(status.containers, { clock: daemon.clock });
  if (broken.length > 0) throw new Error(`status contradicts itself:\n${broken.join('\n')}`);
  return status;
}

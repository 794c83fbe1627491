import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../test/e2e/rig/project-root';
import { PluginProcess } from './plugin-process';

/** Copies the bundle that is measured, so that a build meanwhile does not change it. Throws when there is none. */
export function takeBundle(dir: string, file = join(projectRoot(), 'dist/cpusetd.js')): string {
  const copy = join(dir, 'cpusetd.js');
  copyFileSync(file, copy);
  return copy;
}

/**
 * The bundled daemon with state, sockets and log in the folder; CPU 0 is reserved, the machine's cgroups are its own.
 */
export function startDaemon(dir: string, bundle: string, args: readonly string[] = []): Promise<PluginProcess> {
  const socketPath = join(dir, 'nri.sock');
  const command = [
    ...[bundle, 'run', '--reserved-cpus', '0', '--cri-endpoint', 'off', '--nri-socket', socketPath],
    ...['--state-dir', join(dir, 'state'), '--lock-dir', join(dir, 'locks')],
    ...['--admin-socket', join(dir, 'admin.sock'), ...args],
  ];
  return PluginProcess.start({ socketPath, command, logFile: join(dir, 'daemon.log') });
}

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { CpusetdError } from '../../core/errors';
import { acquireHostLock, acquireRuntimeLocks, identifySocket, type HostLockOutcome } from '../../host';
import type { OnClose } from './closers';
import { nameOf, type Config, type OptionKey } from '../config';

export interface LockParts {
  readonly config: Config;
  /** Of the state directory. */
  readonly lockPath: string;
  readonly log: Logger;
  readonly onClose: OnClose;
}

/**
 * Takes the lock of our state before it returns, and the locks of the runtime before the returned promise resolves.
 * Nothing may be registered until then. The locks are held until closed. Throws, or rejects with, CpusetdError when
 * another process holds one, HostError when a lock can't be taken.
 */
export function takeLocks({ config, lockPath, log, onClose }: LockParts): Promise<void> {
  const ours = socketsOfOurs(config);
  const theirs = socketsOfRuntime(config);
  checkDistinct([...ours, ...theirs]);
  const runtime = theirs.map(({ path }) => path);
  const warn = (because: string): void => log.warn({ because }, 'a directory was open to others');
  const keep = (outcome: HostLockOutcome): void => {
    if (outcome.kind === 'held') throw new CpusetdError('FAILED_PRECONDITION', outcome.because);
    outcome.lock.warnings.forEach(warn);
  };
  const state = acquireHostLock(lockPath);
  if (state.kind === 'acquired') onClose(() => state.lock.release());
  keep(state);
  ours.flatMap(findOpenFolder).forEach(warn);

  const taken = acquireRuntimeLocks(config.lockDir, runtime);
  onClose(async () => {
    const outcome = await taken.catch(() => undefined);
    if (outcome?.kind === 'acquired') outcome.lock.release();
  });
  return taken.then(keep);
}

interface NamedSocket {
  readonly key: OptionKey;
  readonly path: string;
}

/** Two instances of cpusetd that share one of these sockets would give out the same CPUs. */
function socketsOfRuntime({ mode, nriSocket, criEndpoint }: Config): NamedSocket[] {
  return [
    ...(mode === 'nri' ? [{ key: 'nriSocket', path: nriSocket } as const] : []),
    ...(criEndpoint === undefined ? [] : [{ key: 'criEndpoint', path: criEndpoint } as const]),
  ];
}

function socketsOfOurs({ mode, adminSocket, podResourcesSocket, criListen }: Config): NamedSocket[] {
  return [
    { key: 'adminSocket', path: adminSocket },
    ...(podResourcesSocket === undefined ? [] : [{ key: 'podResourcesSocket', path: podResourcesSocket } as const]),
    ...(mode === 'cri-proxy' && 'path' in criListen ? [{ key: 'criListen', path: criListen.path } as const] : []),
  ];
}

/** Paths may differ and lead to one socket all the same: over links, that the options alone do not show. */
function checkDistinct(sockets: readonly NamedSocket[]): void {
  const seen = new Map<string, OptionKey>();
  for (const { key, path } of sockets) {
    const names = identifySocket(path);
    const other = names.map((name) => seen.get(name)).find((found) => found !== undefined);
    if (other !== undefined)
      throw new CpusetdError(
        'INVALID_ARGUMENT',
        `--${nameOf(other)} and --${nameOf(key)} ${path}: both lead to one socket; set another path for one of them`,
      );
    for (const name of names) seen.set(name, key);
  }
}

/**
 * A user who may write to the folder of a socket can replace the socket. The folder may be shared, as with the kubelet,
 * so it is reported and not changed.
 */
function findOpenFolder({ key, path }: NamedSocket): string[] {
  const folder = dirname(path);
  const stats = statSync(folder, { throwIfNoEntry: false }); // made with mode 0755 where it is missing
  if (!stats) return [];
  const place = `--${nameOf(key)} ${path}`;
  if (stats.uid !== 0 && stats.uid !== process.geteuid?.())
    return [
      `${place}: ${folder} belongs to user ${stats.uid}, who could replace the socket; run: chown root ${folder}`,
    ];
  const isOpen = (stats.mode & 0o022) !== 0 && (stats.mode & 0o1000) === 0;
  return isOpen ? [`${place}: others may write to ${folder}, and replace the socket; run: chmod go-w ${folder}`] : [];
}

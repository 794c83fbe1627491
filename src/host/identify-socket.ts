import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

/**
 * What a socket is known by, whoever asks: the same for every path that leads to it, from the host and from a container, and
 * whether its server runs or not. Two sockets are one when any name of theirs is the same.
 *
 * The first name is the path without links. The second, once its directory is there, is that directory on its device and the
 * name in it: bind mounts and other roots change paths, and a server that starts again makes a new socket.
 */
export function identifySocket(path: string): string[] {
  const real = resolveLinks(normalize(path));
  // Where nothing is mounted on it, /var/run is a link to /run on every Linux of today; in an image it may be a directory.
  const names = [`path ${real.replace(/^\/var\/run(?=\/)/, '/run')}`];
  try {
    const { dev, ino } = statSync(dirname(real), { bigint: true });
    names.push(`inode ${dev}:${ino} ${basename(real)}`);
  } catch {
    // its server has never run yet
  }
  return names;
}

/** As far as the path is there; what is missing of it stays as it is. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveLinks(parent), basename(path));
  }
}

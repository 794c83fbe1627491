import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

/**
 * The names of a socket. They are the same for every path that leads to it, from the host and from a container, with
 * its server running or not. Two sockets are the same when they have a name in common.
 *
 * The first name is the path without links. The second, once its directory is there, is that directory on its device
 * and the name in it: bind mounts and other roots change paths, and a server that starts again makes a new socket.
 */
export function identifySocket(path: string): string[] {
  const real = resolveLinks(normalize(path));
  // /var/run is a link to /run on every Linux of today; in an image it may be a directory.
  const names = [`path ${real.replace(/^\/var\/run(?=\/)/, '/run')}`];
  try {
    const { dev, ino } = statSync(dirname(real), { bigint: true });
    names.push(`inode ${dev}:${ino} ${basename(real)}`);
  } catch {
    // the server has not run yet
  }
  return names;
}

/** Resolves the part of the path that exists; the rest stays as it is. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveLinks(parent), basename(path));
  }
}

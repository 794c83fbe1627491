// Tar archives that depend on nothing but their content: no clock, no user, no umask, no order of a directory.
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/**
 * @typedef {object} Entry
 * @property {string} name its path, without a slash in front
 * @property {Buffer | string} [content] of a file
 * @property {boolean} [isFolder]
 * @property {number} [mode] by default 0755 of a folder, 0644 of a file
 * @property {string} [linkTo] the target of a symbolic link
 */

/**
 * Packs entries, sorted by name, with the folders that they are in. All belongs to root.
 * @param {readonly Entry[]} entries
 * @param {number} epoch the time of all entries, in seconds
 * @returns {Promise<Buffer>}
 */
export async function packTar(entries, epoch) {
  const above = entries.flatMap(({ name }) => [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index)));
  /** @type {Map<string, Entry>} */
  const all = new Map(above.map((name) => [name, { name, isFolder: true }]));
  for (const entry of entries) all.set(entry.name, entry);
  const tar = pack();
  const done = buffer(tar);
  const common = { mtime: new Date(epoch * 1000), uid: 0, gid: 0, uname: 'root', gname: 'root' };
  for (const entry of [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name, isFolder = false, linkTo: linkname, content = '' } = entry;
    if (isFolder) tar.entry({ ...common, name, type: 'directory', mode: entry.mode ?? 0o755 });
    else if (linkname !== undefined) tar.entry({ ...common, name, type: 'symlink', linkname, mode: 0o777 });
    else tar.entry({ ...common, name, type: 'file', mode: entry.mode ?? 0o644 }, content);
  }
  tar.finalize();
  return done;
}

/**
 * Compresses without a time or a name. The result depends on the version of Node, which the release fixes.
 * @param {Buffer} content
 * @returns {Buffer}
 */
export const gzip = (content) => gzipSync(content, { level: 9 });

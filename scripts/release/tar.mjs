// Tar archives that depend on nothing but their content: no clock, no user, no umask, no order of a directory.
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/**
 * @typedef {object} Entry
 * @property {string} name its path, without a slash in front
 * @property {Buffer | string} [content] of a file
 * @property {number} [mode] of a file, by default 0644
 * @property {string} [linkTo] the target of a symbolic link
 */

/**
 * Packs entries, sorted by name, with the folders that they are in. All belongs to root.
 * @param {readonly Entry[]} entries
 * @param {number} epoch the time of all entries, in seconds
 * @returns {Promise<Buffer>}
 */
export async function packTar(entries, epoch) {
  const folders = new Set(
    entries.flatMap(({ name }) => [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index))),
  );
  const links = new Set(entries.filter(({ linkTo }) => linkTo !== undefined).map(({ name }) => name));
  const all = [
    ...[...folders].filter((name) => !links.has(name)).map((name) => ({ name, isFolder: true })),
    ...entries,
  ];
  const tar = pack();
  const done = buffer(tar);
  const common = { mtime: new Date(epoch * 1000), uid: 0, gid: 0, uname: 'root', gname: 'root' };
  for (const entry of all.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if ('isFolder' in entry) tar.entry({ ...common, name, type: 'directory', mode: 0o755 });
    else if (entry.linkTo !== undefined)
      tar.entry({ ...common, name, type: 'symlink', linkname: entry.linkTo, mode: 0o777 });
    else tar.entry({ ...common, name, type: 'file', mode: entry.mode ?? 0o644 }, entry.content ?? '');
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

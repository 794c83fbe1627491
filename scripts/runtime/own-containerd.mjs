// A containerd release of the reader's own in the place of Debian's, such as one that no suite of Debian has yet.
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Names the folder with its programs. It counts for suite `sid`, whose configuration file is that of 2.x. */
const variable = 'CPUSETD_CONTAINERD';
const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr'];

/** The folder, or undefined when Debian's containerd is meant. @throws {Error} when it lacks a program */
export function findOwnContainerd(suite, env = process.env) {
  const dir = env[variable];
  if (!dir || suite !== 'sid') return undefined;
  const missing = programs.filter((name) => !existsSync(join(dir, name)));
  if (missing.length > 0) throw new Error(`${variable}=${dir} has no ${missing.join(', no ')}`);
  return dir;
}

/** Copies the programs to a new folder, where a runtime can see them. */
export function copyOwnContainerd(from, to) {
  mkdirSync(to);
  for (const name of programs) cpSync(join(from, name), join(to, name), { dereference: true });
}

/** `2.2.1` of what `containerd --version` prints: name, module, version, revision. */
export const parseContainerdVersion = (told) => told.trim().split(' ')[2]?.replace(/^v/, '') ?? 'unknown';

// Programs of Node, taken once from the npm packages that hold nothing else into the cache, and checked against their
// digests here.
//
// node scripts/release/node-programs.mjs [VERSION...] prints the paths for this machine; a version may be the major one
// only
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildOnce, cacheDir } from '../shared/cache.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';
import { runWithProgressSync } from '../shared/run-with-progress.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */
/** @typedef {'x64' | 'arm64'} Arch Node's name of an architecture */

/**
 * The versions, and the digests of their packages for both architectures. @type {Record<string, Record<Arch, string>>}
 */
const packages = {
  '20.20.2': {
    x64: 'PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
    arm64: 'LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  },
  '22.23.3': {
    x64: 'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
    arm64: 'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  },
  '24.21.0': {
    x64: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    arm64: 'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};

/** The Node of the image, with which a release is built too: its latest line with long-term support (November 2026). */
export const releaseNode = '24.21.0';

/** The versions that the acceptance runs on: the floor and the lines that are maintained. */
export const testedNodes = Object.keys(packages);

/**
 * Gives the folder of a Node, with `bin/node` and its LICENSE, and fetches it when the cache has none (50 MB).
 * @param {string} version one of the list, in full or the major one
 * @param {EnsureOptions & { arch?: Arch }} options
 * @returns {string} the folder
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureNode(version, { env = process.env, log = () => {}, arch = thisArch() } = {}) {
  const full = testedNodes.find((each) => each === version || each.split('.')[0] === version);
  const digest = full === undefined ? undefined : packages[full]?.[arch];
  if (full === undefined || digest === undefined)
    throw new Error(`no Node ${version}; there are ${testedNodes.join(', ')}`);
  return buildOnce(
    join(cacheDir(env), `node-${full}-${arch}`),
    (building) => {
      log(`fetching Node ${full} for ${arch}`);
      const unpacked = `${building}.unpacked`;
      try {
        mkdirSync(unpacked, { recursive: true });
        const args = [
          'pack',
          '--silent',
          '--ignore-scripts',
          '--pack-destination',
          unpacked,
          `node-linux-${arch}@${full}`,
        ];
        const npm = runWithProgressSync('npm', args, { what: `Node ${full}`, cwd: unpacked, env });
        if (npm.status !== 0) throw new Error(`Node ${full} for ${arch} can't be had: ${npm.stderr.trim()}`);
        const [archive = ''] = readdirSync(unpacked).map((name) => join(unpacked, name));
        const found = createHash('sha512').update(readFileSync(archive)).digest('base64');
        if (found !== digest)
          throw new Error(`the package of Node ${full} for ${arch} is not the one that this project knows`);
        execFileSync('tar', ['-xzf', archive, '-C', unpacked, 'package/bin/node', 'package/LICENSE']);
        cpSync(join(unpacked, 'package'), building, { recursive: true });
      } finally {
        rmSync(unpacked, { recursive: true, force: true });
      }
    },
    { log },
  );
}

/**
 * The path of a Node's program.
 * @param {string} folder see `ensureNode`
 */
export const nodeProgram = (folder) => join(folder, 'bin/node');

/**
 * The digest of a package, for a bill of materials.
 * @param {string} version
 * @param {Arch} arch
 */
export const nodeDigest = (version, arch) => packages[version]?.[arch] ?? '';

/** @returns {Arch} */
function thisArch() {
  if (process.arch === 'x64' || process.arch === 'arm64') return process.arch;
  throw new Error(`Node has no program here for ${process.arch}`);
}

if (isMain(import.meta.url))
  for (const version of process.argv.slice(2)) console.log(nodeProgram(ensureNode(version, { log: logToStderr })));

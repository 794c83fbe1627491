// npm run publish:npm: sends the package with the program and the libraries to a registry of npm packages.
//
//   npm run publish:npm -- --registry URL [--dry-run]
//
// package.json is private, so that nobody publishes a checkout by mistake. This script packs a copy that is not.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './checks.mjs';
import { checkNpmToken } from './credentials.mjs';
import { publish, runCommand, UsageError } from './publish.mjs';

/** @import { Plan, Request } from './publish.mjs' */

await publish({ name: 'npm', options: { registry: { type: 'string', example: 'https://npm.example.com/' } }, plan });

/** @param {Request} request @returns {Plan} */
function plan({ root, version, values }) {
  const registry = parseRegistry(values.registry ?? '');
  const program = join(root, 'dist/cpusetd.js');
  const isBuilt = existsSync(program);
  const printed = isBuilt ? execFileSync(process.execPath, [program, '--version'], { encoding: 'utf8' }).trim() : '';
  const userConfig = execFileSync('npm', ['config', 'get', 'userconfig'], { cwd: root, encoding: 'utf8' }).trim();
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-publish-'));
  const packed = isBuilt ? packCopy(root, work) : undefined;
  const tag = version.includes('-') ? 'next' : 'latest';
  const path = join(work, packed?.filename ?? '');
  const command = ['npm', 'publish', path, '--registry', registry, '--tag', tag, '--access', 'public'];
  return {
    checks: [
      check(
        `dist/cpusetd.js is built, and says ${version}`,
        printed === version,
        `npm run build${isBuilt ? `; it says ${printed}` : ''}`,
      ),
      checkNpmToken(registry, userConfig),
    ],
    items:
      packed === undefined
        ? []
        : [
            {
              file: packed.filename,
              bytes: packed.size,
              digest: packed.integrity,
              to: `${registry} as ${packed.name}@${packed.version}, tag ${tag}`,
              content: packed.files.map(({ path, size }) => `${path}: ${size} bytes`),
            },
          ],
    commands: [command],
    send: () => void runCommand(command),
    close: () => rmSync(work, { recursive: true }),
  };
}

/** @param {string} text */
function parseRegistry(text) {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text).href;
  throw new UsageError(`--registry ${text} is no http or https address`);
}

/** @typedef {{ path: string, size: number }} PackedFile */
/**
 * The answer of `npm pack`.
 * @typedef {{ filename: string, name: string, version: string, size: number, integrity: string,
 *   files: PackedFile[] }} Packed
 */

/**
 * Packs the package into a folder, without what only a checkout needs.
 * @param {string} root
 * @param {string} work
 * @returns {Packed}
 */
function packCopy(root, work) {
  /** @param {string} cwd @returns {Packed} */
  const pack = (cwd) => {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', work];
    const [packed] = JSON.parse(execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 }));
    return packed;
  };
  execFileSync('tar', ['-xzf', join(work, pack(root).filename), '-C', work]);
  const copy = join(work, 'package');
  const {
    private: _private,
    scripts: _scripts,
    devDependencies: _dev,
    ...manifest
  } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'));
  writeFileSync(join(copy, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return pack(copy);
}

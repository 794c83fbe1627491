// The checks that are the same for all that is published. None asks the network.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { hasCommand } from '../shared/host-commands.mjs';
import { findAddressProblem } from './public-address.mjs';

/** @typedef {{ what: string, remedy?: string }} Check what is claimed; the remedy is absent when it holds */

/**
 * A check that holds, or fails with its remedy.
 * @param {string} what
 * @param {boolean} holds
 * @param {string} remedy
 * @returns {Check}
 */
export const check = (what, holds, remedy) => (holds ? { what } : { what, remedy });

/**
 * Checks the commit that is published: its version, its place in the changelog, its tag, its public address.
 * @param {string} root the project's folder
 * @param {string} version that of package.json
 * @returns {Check[]}
 */
export function checkCommit(root, version) {
  /** @param {string} name */
  const read = (name) => readFileSync(join(root, name), 'utf8');
  /** @param {string[]} args */
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trimEnd();
  const manifest = JSON.parse(read('package.json'));
  const changed = git('status', '--porcelain').split('\n').filter(Boolean);
  const tag = `v${version}`;
  const problem = findAddressProblem(manifest);
  const heading = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm');
  return [
    check(
      `${version} is the version of a release`,
      /^\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$/.test(version),
      'set version in package.json to a form such as 1.2.3 or 1.2.3-rc.1, without -dirty or -dev',
    ),
    check(
      `package-lock.json has the version ${version}`,
      JSON.parse(read('package-lock.json')).version === version,
      'npm install --package-lock-only',
    ),
    check(
      `CHANGELOG.md has a section for ${version}`,
      heading.test(read('CHANGELOG.md')),
      `put the lines of [Unreleased] under a heading: ## [${version}] - YYYY-MM-DD`,
    ),
    check(
      'everything is committed',
      changed.length === 0,
      `commit or remove these files: ${changed.map((line) => line.slice(3)).join(', ')}`,
    ),
    check(
      `the tag ${tag} is at this commit`,
      git('tag', '--points-at', 'HEAD').split('\n').includes(tag),
      `git tag -a ${tag} -m ${tag}, at the commit of the release`,
    ),
    {
      what: 'package.json has the public address of the project',
      ...(problem !== undefined && {
        remedy: `${problem}; set repository.url, bugs.url and homepage to the address that users reach`,
      }),
    },
  ];
}

/**
 * Checks that a release is there and is as its SHA256SUMS says.
 * @param {string} folder
 * @param {string[]} names the files that are needed
 * @returns {Check[]}
 */
export function checkRelease(folder, names) {
  const remake = 'make the release again: npm run release -- --download-url URL';
  const sums = join(folder, 'SHA256SUMS');
  if (!existsSync(sums))
    return [check(`${folder} has a release`, false, `${remake}; or give its folder: --release DIR`)];
  const listed = new Map(
    readFileSync(sums, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, digest = '', name = ''] = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line) ?? [];
        return name === '' ? [] : [/** @type {[string, string]} */ ([name, digest])];
      }),
  );
  const missing = names.filter((name) => !listed.has(name) || !existsSync(join(folder, name)));
  const wrong = [...listed].filter(
    ([name, digest]) => !existsSync(join(folder, name)) || describeFile(join(folder, name)).sha256 !== digest,
  );
  return [
    check(`the release has ${names.join(', ')}`, missing.length === 0, `missing: ${missing.join(', ')}; ${remake}`),
    check(
      'the files of the release match SHA256SUMS',
      wrong.length === 0,
      `these differ: ${wrong.map(([name]) => name).join(', ')}; ${remake}`,
    ),
  ];
}

/**
 * The digest and the size of a file.
 * @param {string} path
 */
export function describeFile(path) {
  return { sha256: createHash('sha256').update(readFileSync(path)).digest('hex'), bytes: statSync(path).size };
}

/**
 * Checks that one of these programs is there.
 * @param {string[]} names the preferred one first
 * @returns {{ check: Check, program: string | undefined }}
 */
export function findProgram(...names) {
  const program = names.find(hasCommand);
  const wanted = names.join(' or ');
  return { program, check: check(`${program ?? wanted} is installed`, program !== undefined, `install ${wanted}`) };
}

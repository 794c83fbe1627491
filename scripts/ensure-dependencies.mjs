// Installs the dependencies of package-lock.json when something else is installed; needs nothing but Node and npm.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from './shared/errors.mjs';
import { runWithProgressSync } from './shared/run-with-progress.mjs';

/**
 * Installs the dependencies, or ends the process with a message when that fails.
 * @param {string} root the project's folder
 * @returns {void}
 */
export function ensureDependencies(root) {
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major < 20) {
    console.error(`Node ${process.versions.node} is too old: cpusetd needs Node 20 or later`);
    process.exit(1);
  }
  if (isInstalled(root)) return;
  console.error(`Installing ${countPackages(root)} dependencies into node_modules (half a minute to some minutes) ...`);
  const args = ['ci', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  try {
    const npm = runWithProgressSync('npm', args, { what: 'the dependencies', cwd: root, echo: true });
    if (npm.status === 0) return;
    console.error('npm ci failed; see its message above');
    process.exit(npm.status);
  } catch (error) {
    console.error(messageOf(error));
    process.exit(1);
  }
}

/** @param {string} root */
function countPackages(root) {
  return Object.keys(readPackages(join(root, 'package-lock.json')) ?? {}).filter((path) => path !== '').length;
}

/**
 * Compares the lock with the copy that npm leaves in node_modules when an installation is complete. Only optional
 * packages may be missing there: those of other platforms.
 *
 * @param {string} root the project's folder
 * @returns {boolean}
 */
export function isInstalled(root) {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(join(root, 'node_modules/.package-lock.json'));
  if (!wanted || !installed) return false;
  /** @param {string} path */
  const isSame = (path) => wanted[path]?.integrity === installed[path]?.integrity;
  /** @param {string} path */
  const mayBeMissing = (path) => path === '' || wanted[path]?.optional || wanted[path]?.devOptional;
  return (
    Object.keys(installed).every((path) => path in wanted && isSame(path)) &&
    Object.keys(wanted).every((path) => isSame(path) || (mayBeMissing(path) && !(path in installed)))
  );
}

/**
 * The packages of a lock, by path.
 * @param {string} path
 * @returns {Record<string, { integrity?: string, optional?: boolean, devOptional?: boolean }> | undefined}
 */
function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

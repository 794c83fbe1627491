// Installs the dependencies of package-lock.json when they are missing or older than it; needs nothing but Node and npm.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** @param {string} root the project's folder */
export function ensureDependencies(root) {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < 20) {
    console.error(`Node ${process.versions.node} is too old: cpusetd needs Node 20 or later`);
    process.exit(1);
  }
  const stamp = join(root, 'node_modules/.cpusetd-lock');
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (readIfThere(stamp) === wanted) return;
  console.error('Installing dependencies ...');
  // Not `npm ci`: it insists on entries for the optional packages of every platform, which not every registry mirror has.
  const npm = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (npm.status !== 0) {
    console.error('npm install failed; see its message above');
    process.exit(npm.status ?? 1);
  }
  writeFileSync(stamp, wanted);
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

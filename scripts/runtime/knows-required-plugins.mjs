// Whether a suite's containerd can be told to create nothing without a certain NRI plugin. It takes the setting either way.
//
//   node scripts/runtime/knows-required-plugins.mjs sid     ends with 0 when it can; with 3, and why on stderr, when it can't
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureRoot, findMissingPrerequisite, readPackageVersions } from './debian-root.mjs';
import { findOwnContainerd, parseContainerdVersion } from './own-containerd.mjs';

const suite = process.argv[2] ?? 'sid';
const missing = findMissingPrerequisite(suite);
if (missing !== undefined) {
  console.error(missing);
  process.exit(3);
}
const root = ensureRoot(suite);
const own = findOwnContainerd(suite);
const ask = (...args) =>
  own === undefined
    ? execFileSync('chroot', [root, '/usr/bin/containerd', ...args], { encoding: 'utf8' })
    : execFileSync(join(own, 'containerd'), args, { encoding: 'utf8' });

if (!ask('config', 'default').includes('default_validator')) {
  const version = own === undefined ? readPackageVersions(root).containerd : parseContainerdVersion(ask('--version'));
  console.error(`containerd 2.2 or later is needed and this is ${version}; CPUSETD_CONTAINERD can name another`);
  process.exitCode = 3;
}

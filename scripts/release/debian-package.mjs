// The Debian package, made by dpkg-deb. It suits all architectures: the program is one file for Node.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installedUnit } from './payload.mjs';
import { gzip } from './tar.mjs';

/** @import { Payload } from './payload.mjs' */
/**
 * @typedef {{ name: string, content?: Buffer | string, mode?: number, linkTo?: string }} File `linkTo`: the target of a
 * symbolic link
 */

/** The scripts that dpkg runs, and the files that it leaves alone when an administrator has changed them. */
const scripts = ['postinst', 'prerm', 'postrm'];
const conffiles = ['/etc/cpusetd.yaml'];

/**
 * A version as Debian writes it, for which 1.0.0~rc.1 is before 1.0.0.
 * @param {string} version
 */
const toDebian = (version) => version.replace('-', '~');

/**
 * The name of the package's file, as Debian names it.
 * @param {string} version
 */
export const debianName = (version) => `cpusetd_${toDebian(version)}_all.deb`;

/**
 * Packs the package.
 * @param {Payload} payload
 * @returns {Buffer}
 */
export function makeDebianPackage(payload) {
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-deb-'));
  try {
    const tree = join(work, 'tree');
    const files = listFiles(payload);
    const scriptOf = (/** @type {string} */ name) => readFileSync(new URL(`debian/${name}`, import.meta.url));
    /** @type {File[]} */
    const control = [
      { name: 'control', content: formatControl(toDebian(payload.version), files) },
      { name: 'conffiles', content: conffiles.map((path) => `${path}\n`).join('') },
      { name: 'md5sums', content: files.filter(isSummed).map(formatSum).join('') },
      ...scripts.map((name) => ({ name, content: scriptOf(name), mode: 0o755 })),
    ];
    for (const file of [...files, ...control.map((each) => ({ ...each, name: `DEBIAN/${each.name}` }))])
      writeFile(tree, file);
    settle(tree, payload.epoch);
    const out = join(work, 'out.deb');
    const args = ['--root-owner-group', '-Zxz', '--threads-max=1', '--build', tree, out];
    const env = { PATH: process.env.PATH, SOURCE_DATE_EPOCH: String(payload.epoch) };
    execFileSync('dpkg-deb', args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    return readFileSync(out);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {Payload} payload
 * @returns {File[]} sorted by name
 */
function listFiles({ completions, config, dropIn, licence, man, notices, pages, program, sbom, units }) {
  const doc = 'usr/share/doc/cpusetd';
  /** @type {File[]} */
  const files = [
    { name: 'usr/bin/cpusetd', content: program, mode: 0o755 },
    { name: 'usr/bin/kubectl-cpuset', linkTo: 'cpusetd' },
    { name: 'usr/bin/kubectl_complete-cpuset', linkTo: 'cpusetd' },
    ...units.map(({ name, text }) => ({
      name: `usr/lib/systemd/system/${name}`,
      content: installedUnit(text, '/usr/bin/cpusetd'),
    })),
    { name: 'usr/share/bash-completion/completions/cpusetd', content: completions.bash },
    { name: 'usr/share/zsh/vendor-completions/_cpusetd', content: completions.zsh },
    { name: 'usr/share/fish/vendor_completions.d/cpusetd.fish', content: completions.fish },
    { name: 'usr/share/man/man8/cpusetd.8.gz', content: gzip(Buffer.from(man)) },
    { name: 'etc/cpusetd.yaml', content: config },
    // postinst compares the options with it: those of the example are nobody's.
    { name: 'usr/share/cpusetd/cpusetd.yaml', content: config },
    { name: `${doc}/copyright`, content: formatCopyright(licence, notices) },
    { name: `${doc}/sbom.cdx.json`, content: sbom },
    // An example: in its place it would start cpusetd with the kubelet, also before its options are set.
    { name: `${doc}/examples/${dropIn.name}`, content: installedUnit(dropIn.text, '/usr/bin/cpusetd') },
    ...pages.map(({ name, text }) => ({ name: `${doc}/${name}`, content: text })),
  ];
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @param {string} version @param {File[]} files */
function formatControl(version, files) {
  const bytes = files.reduce((sum, { content = '' }) => sum + Buffer.byteLength(content), 0);
  return `Package: cpusetd
Version: ${version}
Architecture: all
Maintainer: The maintainers of cpusetd <maintainers@cpusetd.invalid>
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: nodejs (>= 20), util-linux
Section: admin
Priority: optional
Description: exclusive CPUs for Kubernetes containers
 cpusetd gives containers exclusive CPUs, outside the kubelet: it pins them at
 creation, keeps its decisions on disk and checks them against the kernel.
`;
}

/** @param {string} licence @param {string} notices */
function formatCopyright(licence, notices) {
  return `cpusetd is under the Apache License 2.0. The notices of what it contains follow below.\n\n${licence}\n${notices}`;
}

/** @param {File} file dpkg knows the digests of conffiles by itself */
const isSummed = ({ name, linkTo }) => linkTo === undefined && !conffiles.includes(`/${name}`);
/** @param {File} file */
const formatSum = ({ name, content = '' }) => `${createHash('md5').update(content).digest('hex')}  ${name}\n`;

/** @param {string} tree @param {File} file */
function writeFile(tree, { name, content = '', mode = 0o644, linkTo }) {
  const path = join(tree, name);
  mkdirSync(dirname(path), { recursive: true });
  if (linkTo !== undefined) return symlinkSync(linkTo, path);
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/**
 * Gives a folder, and all in it, the time of the release, and folders the usual mode whatever the umask is.
 * @param {string} folder
 * @param {number} epoch
 */
function settle(folder, epoch) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) settle(path, epoch);
    else lutimesSync(path, epoch, epoch);
  }
  chmodSync(folder, 0o755);
  lutimesSync(folder, epoch, epoch);
}

// The content of every form of a release: the program, and what it says about itself.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildBundle } from '../build-bundle.mjs';
import { listBundledPackages } from './bundled-packages.mjs';
import { formatNotices } from './notices.mjs';
import { formatSbom, npmPurl, sha512Of } from './sbom.mjs';

/**
 * @typedef {object} Payload
 * @property {string} version
 * @property {number} epoch seconds: the time of every file in the release
 * @property {Buffer} program the bundle
 * @property {string} man
 * @property {{ bash: string, zsh: string, fish: string }} completions
 * @property {{ name: string, text: string }[]} units of systemd, as deploy/ has them
 * @property {{ name: string, text: string }} dropIn for the unit of the kubelet
 * @property {string} config the example of all options
 * @property {string} licence
 * @property {string} notices
 * @property {import('./sbom.mjs').Part[]} parts the bundled packages
 * @property {string} sbom
 * @property {{ name: string, text: string }[]} pages of the project's root for who installs it
 */

const unitNames = ['cpusetd.service', 'cpusetd-cri-proxy.service', 'cpusetd-cri-proxy.socket'];
const dropInName = 'kubelet.service.d/10-cpusetd.conf';
const pageNames = ['CHANGELOG.md', 'SECURITY.md'];

/**
 * Builds the program and makes everything else from it and from the project.
 * @param {string} root the project's folder
 * @param {number} epoch
 * @returns {Promise<Payload>}
 */
export async function makePayload(root, epoch) {
  const read = (/** @type {string} */ name) => readFileSync(join(root, name), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-payload-'));
  try {
    const path = join(work, 'cpusetd');
    const packages = listBundledPackages(root, await buildBundle(root, path));
    const print = (/** @type {string[]} */ ...args) =>
      execFileSync(process.execPath, [path, ...args], { encoding: 'utf8', env: {} });
    const parts = packages.map(({ name, version, licence, integrity }) => ({
      name,
      version,
      licence,
      purl: npmPurl(name, version),
      sha512: sha512Of(integrity),
    }));
    const subject = {
      name: 'cpusetd',
      version,
      kind: /** @type {const} */ ('application'),
      purl: npmPurl('cpusetd', version),
    };
    return {
      version,
      epoch,
      parts,
      program: readFileSync(path),
      man: print('man'),
      completions: {
        bash: print('completion', 'bash'),
        zsh: print('completion', 'zsh'),
        fish: print('completion', 'fish'),
      },
      units: unitNames.map((name) => ({ name, text: read(`deploy/${name}`) })),
      dropIn: { name: dropInName, text: read(`deploy/${dropInName}`) },
      config: read('deploy/etc/cpusetd.yaml'),
      licence: read('LICENSE'),
      notices: formatNotices('cpusetd', packages),
      sbom: await formatSbom(subject, parts, epoch),
      pages: pageNames.filter((name) => existsSync(join(root, name))).map((name) => ({ name, text: read(name) })),
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * A unit for where the program was installed. The comment at its head is about an installation by hand, and is left
 * out.
 * @param {string} text
 * @param {string} program its path
 */
export function installedUnit(text, program) {
  const unit = text.slice(text.indexOf('[Unit]')).replaceAll('/usr/local/bin/cpusetd', program);
  if (!unit.startsWith('[Unit]')) throw new Error('a unit has no section [Unit]');
  return unit;
}

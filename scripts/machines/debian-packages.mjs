// The Debian package of the release, for the machine that installs and upgrades it.
import { makeDebianPackage } from '../release/debian-package.mjs';
import { makePayload } from '../release/payload.mjs';

/** A version above all others. */
const nextVersion = '99.0.0';

/**
 * Makes two packages with the bundle: of this version, and of a next one that has only another number.
 * @param {string} repository
 * @param {Buffer} bundle
 * @returns {Promise<Record<string, Buffer>>} by file name
 */
export async function makePackages(repository, bundle) {
  const payload = { ...(await makePayload(repository, Math.floor(Date.now() / 1000))), program: bundle };
  const text = bundle.toString().replaceAll(JSON.stringify(payload.version), JSON.stringify(nextVersion));
  const next = { ...payload, version: nextVersion, program: Buffer.from(text) };
  return { 'cpusetd.deb': makeDebianPackage(payload), 'cpusetd-next.deb': makeDebianPackage(next) };
}

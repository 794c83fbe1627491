// The image of a release, as clusters of tests run it.
//
//   node scripts/cluster/image.mjs ARCHIVE [amd64] [arm64]     writes the image, named localhost/cpusetd:test, by default for this machine
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureBasePackages, findNewestPins } from '../release/base.mjs';
import { imageArchitectures, makeImage } from '../release/image.mjs';
import { ensureNode, releaseNode } from '../release/node-programs.mjs';
import { makePayload } from '../release/payload.mjs';
import { messageOf } from '../shared/errors.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

const imageName = 'localhost/cpusetd:test';
const project = fileURLToPath(new URL('../..', import.meta.url));
/** @type {import('../release/base.mjs').DebianArch} */
const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/**
 * Gets the parts ready that the image is made of.
 * @param {EnsureOptions} options
 * @returns {void}
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureImageParts(options = {}) {
  ensureNode(releaseNode, options);
  ensureBase([architecture], options);
}

/**
 * Gets the base ready. Where Debian has replaced a package of base.json, tests go on with what it has today; a release does not.
 * @param {import('../release/base.mjs').DebianArch[]} architectures
 * @param {EnsureOptions} options
 * @returns {{ pins?: import('../release/base.mjs').Pins }} nothing when it is that of base.json
 */
function ensureBase(architectures, options) {
  try {
    for (const each of architectures) ensureBasePackages(each, options);
    return {};
  } catch (error) {
    (options.log ?? logToStderr)(`${messageOf(error)}; until then tests take today's versions`);
    const pins = findNewestPins();
    for (const each of architectures) ensureBasePackages(each, { ...options, pins });
    return { pins };
  }
}

if (isMain(import.meta.url)) {
  const payload = await makePayload(project, 0);
  const wanted = imageArchitectures.filter((arch) => process.argv.slice(3).includes(arch));
  const architectures = wanted.length > 0 ? wanted : [architecture];
  const options = { architectures, revision: 'none', name: imageName, isCompressed: false };
  const base = ensureBase(architectures, {});
  writeFileSync(process.argv[2] ?? 'image.tar', await makeImage(payload, { ...options, ...base }));
}

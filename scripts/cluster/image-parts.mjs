// The parts of the image of cpusetd that are not its own. This file imports no package: the parts are fetched before
// `npm ci`.
import { ensureBasePackages, findNewestPins } from '../release/base.mjs';
import { ensureNode, releaseNode } from '../release/node-programs.mjs';
import { messageOf } from '../shared/errors.mjs';
import { logToStderr } from '../shared/log.mjs';

/** @import { DebianArch, Pins } from '../release/base.mjs' */
/** @import { EnsureOptions } from '../shared/cache.mjs' */

/** The architecture of this machine. @type {DebianArch} */
export const ownArchitecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/**
 * Gets the parts ready that the image is made of.
 * @param {EnsureOptions} options
 * @returns {void}
 * @throws {Error} with the reason for the operator when they can't be had
 */
export function ensureImageParts(options = {}) {
  ensureNode(releaseNode, options);
  ensureImageBase([ownArchitecture], options);
}

/**
 * Gets the base ready. Where Debian has replaced a package of base.json, tests go on with what it has today; a release
 * does not.
 * @param {DebianArch[]} architectures
 * @param {EnsureOptions} options
 * @returns {{ pins?: Pins }} nothing when it is that of base.json
 * @throws {Error} with the reason for the operator when it can't be had
 */
export function ensureImageBase(architectures, options = {}) {
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

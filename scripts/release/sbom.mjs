// Software bills of materials in the format of CycloneDX 1.6 (JSON), written and checked by the library of that
// project.
import { createHash } from 'node:crypto';
import { ComponentType, HashAlgorithm } from '@cyclonedx/cyclonedx-library/Enums';
import {
  Bom,
  Component,
  HashDictionary,
  LicenseExpression,
  LicenseRepository,
  Metadata,
  SpdxLicense,
} from '@cyclonedx/cyclonedx-library/Models';
import { JSON as Json, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize';
import { Spec1dot6, Version } from '@cyclonedx/cyclonedx-library/Spec';
import { JsonStrictValidator } from '@cyclonedx/cyclonedx-library/Validation';

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {string} version
 * @property {string} purl its package URL
 * @property {string} [licence] an SPDX expression
 * @property {string} [sha256] of its archive, in hexadecimal digits
 * @property {string} [sha512]
 */

/**
 * Formats a bill. The same parts give the same text: its serial number is made of them, and its time is that of the
 * release.
 * @param {{ name: string, version: string, kind: 'application' | 'container', purl: string }} subject
 * @param {readonly Part[]} parts
 * @param {number} epoch seconds
 * @returns {Promise<string>}
 * @throws {Error} when the schema of CycloneDX does not allow the result
 */
export async function formatSbom({ name, version, kind, purl }, parts, epoch) {
  const type = kind === 'container' ? ComponentType.Container : ComponentType.Application;
  const component = new Component(type, name, { version, purl, bomRef: purl, licenses: licences('Apache-2.0') });
  const bom = new Bom({ metadata: new Metadata({ component, timestamp: new Date(epoch * 1000) }) });
  for (const part of parts) {
    const each = new Component(ComponentType.Library, part.name, {
      version: part.version,
      purl: part.purl,
      bomRef: part.purl,
      licenses: part.licence === undefined ? new LicenseRepository() : licences(part.licence),
      hashes: new HashDictionary([
        ...(part.sha256 === undefined ? [] : [/** @type {const} */ ([HashAlgorithm['SHA-256'], part.sha256])]),
        ...(part.sha512 === undefined ? [] : [/** @type {const} */ ([HashAlgorithm['SHA-512'], part.sha512])]),
      ]),
    });
    bom.components.add(each);
    component.dependencies.add(each.bomRef);
  }
  bom.serialNumber = uuidOf(JSON.stringify([name, version, epoch, parts]));
  const text = new JsonSerializer(new Json.Normalize.Factory(Spec1dot6)).serialize(bom, { sortLists: true, space: 2 });
  const faults = await new JsonStrictValidator(Version.v1dot6).validate(text);
  if (faults !== null) throw new Error(`the bill of materials of ${name} is not valid: ${JSON.stringify(faults)}`);
  return `${text}\n`;
}

/** @param {string} expression */
const licences = (expression) =>
  new LicenseRepository([/ /.test(expression) ? new LicenseExpression(expression) : new SpdxLicense(expression)]);

/**
 * A UUID of version 8, made of a text.
 * @param {string} text
 */
function uuidOf(text) {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (Number(bytes[6]) & 0x0f) | 0x80;
  bytes[8] = (Number(bytes[8]) & 0x3f) | 0x80;
  return `urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`;
}

/**
 * The package URL of an npm package.
 * @param {string} name
 * @param {string} version
 */
export const npmPurl = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/**
 * The digest in the `integrity` of package-lock.json, in hexadecimal digits.
 * @param {string} integrity
 */
export const sha512Of = (integrity) => Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');

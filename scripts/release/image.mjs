// The OCI image of a release, for amd64 and arm64, as a tar of the OCI image layout. It needs no container engine and
// no registry.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBasePackages, listBaseFiles, readPins, suite } from './base.mjs';
import { ensureNode, nodeDigest, nodeProgram, releaseNode } from './node-programs.mjs';
import { formatSbom, sha512Of } from './sbom.mjs';
import { gzip, packTar } from './tar.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */
/** @import { DebianArch, Pins } from './base.mjs' */
/** @import { Payload } from './payload.mjs' */

/**
 * The names of the architectures, for images and for Node. @type {Record<DebianArch,
 * import('./node-programs.mjs').Arch>}
 */
const nodeArchs = { amd64: 'x64', arm64: 'arm64' };
export const imageArchitectures = /** @type {DebianArch[]} */ (Object.keys(nodeArchs));

/** @param {string} kind */
const mediaType = (kind) => `application/vnd.oci.image.${kind}`;
/** @param {unknown} value */
const toJson = (value) => Buffer.from(JSON.stringify(value));
/** @param {Buffer} content */
const digestOf = (content) => `sha256:${createHash('sha256').update(content).digest('hex')}`;
/** @param {Buffer} content @param {string} kind */
const describe = (content, kind) => ({ mediaType: mediaType(kind), digest: digestOf(content), size: content.length });

/**
 * Packs the image.
 * @param {Payload} payload
 * @param {{ architectures: DebianArch[], revision: string, name: string, isCompressed?: boolean, pins?: Pins } &
 * EnsureOptions} options
 *   revision: the commit; name: what a runtime calls the image when it imports the tar; pins: of the base, by default
 *   those of base.json
 * @returns {Promise<Buffer>}
 * @throws {Error} with the reason for the operator when its parts can't be had
 */
export async function makeImage(payload, { architectures, revision, name, isCompressed = true, ...options }) {
  const packed = [];
  for (const arch of architectures) packed.push(await packFor(arch, payload, { revision, isCompressed, ...options }));
  const manifests = packed.map(({ described }) => described);
  const common = { schemaVersion: 2, mediaType: mediaType('index.v1+json') };
  const index = toJson({ ...common, manifests });
  // The names for ctr and for skopeo.
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  const top = toJson({ ...common, manifests: [{ ...describe(index, 'index.v1+json'), annotations }] });
  const blobs = new Map([index, ...packed.flatMap((each) => each.blobs)].map((blob) => [digestOf(blob), blob]));
  const entries = [
    { name: 'oci-layout', content: toJson({ imageLayoutVersion: '1.0.0' }) },
    { name: 'index.json', content: top },
    ...[...blobs].map(([digest, content]) => ({ name: `blobs/${digest.replace(':', '/')}`, content })),
  ];
  return packTar(entries, payload.epoch);
}

/**
 * @param {DebianArch} arch
 * @param {Payload} payload
 * @param {{ revision: string, isCompressed: boolean, pins?: Pins } & EnsureOptions} options
 */
async function packFor(arch, payload, { revision, isCompressed, ...options }) {
  const node = ensureNode(releaseNode, { ...options, arch: nodeArchs[arch] });
  // The parts that change least come first: a node that has them fetches only the rest.
  const contents = [
    listBaseFiles(ensureBasePackages(arch, options)),
    [
      { name: 'usr/local/bin/node', content: readFileSync(nodeProgram(node)), mode: 0o755 },
      { name: 'usr/share/doc/node/LICENSE', content: readFileSync(join(node, 'LICENSE')) },
    ],
    [
      { name: 'usr/local/bin/cpusetd', content: payload.program, mode: 0o755 },
      { name: 'usr/share/doc/cpusetd/LICENSE', content: payload.licence },
      { name: 'usr/share/doc/cpusetd/NOTICES.txt', content: payload.notices },
      { name: 'usr/share/doc/cpusetd/sbom.cdx.json', content: payload.sbom },
    ],
  ];
  const layers = [];
  for (const entries of contents) layers.push(await packTar(entries, payload.epoch));
  const config = toJson({
    architecture: arch,
    os: 'linux',
    created: new Date(payload.epoch * 1000).toISOString(),
    config: { ...settings, Labels: formatLabels(payload, revision) },
    rootfs: { type: 'layers', diff_ids: layers.map(digestOf) },
  });
  const stored = isCompressed ? layers.map(gzip) : layers;
  const manifest = toJson({
    schemaVersion: 2,
    mediaType: mediaType('manifest.v1+json'),
    config: describe(config, 'config.v1+json'),
    layers: stored.map((layer) => describe(layer, isCompressed ? 'layer.v1.tar+gzip' : 'layer.v1.tar')),
  });
  const platform = { architecture: arch, os: 'linux' };
  return {
    described: { ...describe(manifest, 'manifest.v1+json'), platform },
    blobs: [manifest, config, ...stored],
  };
}

/**
 * The settings that the Dockerfile has too. Root: it writes the node's cgroups and connects to the runtime's sockets.
 */
export const settings = {
  Env: [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'MALLOC_MMAP_THRESHOLD_=131072',
    'MALLOC_TRIM_THRESHOLD_=131072',
    'NODE_OPTIONS=--v8-pool-size=1',
  ],
  Entrypoint: ['/usr/local/bin/cpusetd'],
  Cmd: ['run'],
};

/** @param {Payload} payload @param {string} revision */
const formatLabels = ({ version, epoch }, revision) => ({
  'org.opencontainers.image.title': 'cpusetd',
  'org.opencontainers.image.description': 'Exclusive CPUs for Kubernetes containers, outside the kubelet',
  'org.opencontainers.image.version': version,
  'org.opencontainers.image.revision': revision,
  'org.opencontainers.image.created': new Date(epoch * 1000).toISOString(),
  'org.opencontainers.image.licenses': 'Apache-2.0',
});

/**
 * The bill of materials of the image for one architecture: of the program, Node and Debian's packages.
 * @param {Payload} payload
 * @param {DebianArch} arch
 */
export function formatImageSbom({ version, parts, epoch }, arch) {
  const node = {
    name: 'node',
    version: releaseNode,
    licence: 'MIT',
    purl: `pkg:npm/node-linux-${nodeArchs[arch]}@${releaseNode}`,
    sha512: sha512Of(nodeDigest(releaseNode, nodeArchs[arch])),
  };
  const debian = Object.entries(readPins()[arch]).map(([name, pin]) => ({
    name,
    ...pin,
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(pin.version)}?arch=${arch}&distro=${suite}`,
  }));
  const purl = `pkg:oci/cpusetd?arch=${arch}&tag=${version}`;
  return formatSbom({ name: 'cpusetd', version, kind: 'container', purl }, [...parts, node, ...debian], epoch);
}

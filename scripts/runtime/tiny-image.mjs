// An OCI image in a tar, made from one static busybox, for `ctr images import` and `skopeo copy`. It needs no registry.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The image that runtimes use for pod sandboxes. */
export const pauseImage = 'localhost/pause:1';
/** The same content for workloads. */
export const busyboxImage = 'localhost/busybox:1';

/**
 * @typedef {object} Entry of a tar
 * @property {string} name
 * @property {number} [mode]
 * @property {string} [type]
 * @property {string} [linkTo]
 * @property {Buffer} [content]
 * @property {number} [owner] its user and group
 */

/**
 * @typedef {object} Image
 * @property {string} name
 * @property {Entry[]} [entries] its files besides busybox; an image without any is the same as the others without any
 * @property {object} [settings] of its configuration
 */

/**
 * The image of pod sandboxes. The first process of a PID namespace ignores SIGTERM, which ends the usual pause program.
 * @type {Image}
 */
const pauseOfBusybox = { name: pauseImage, settings: { StopSignal: 'SIGKILL' } };

/** The names that images have for the architectures of Node. @type {Partial<Record<NodeJS.Architecture, string>>} */
const architectures = { x64: 'amd64', arm64: 'arm64' };

/** @param {string} kind */
const mediaType = (kind) => `application/vnd.oci.image.${kind}`;

/**
 * Packs busybox, with a link for each of its applets, as images that just sleep.
 * @param {string} busybox path of a statically linked busybox
 * @param {Image[]} images
 * @returns {Buffer} the tar
 */
export function packTinyImage(busybox, images = [pauseOfBusybox, { name: busyboxImage }]) {
  const { manifests, blobs } = packImages(busybox, images);
  return packTar([
    { name: 'oci-layout', content: toJson({ imageLayoutVersion: '1.0.0' }) },
    { name: 'index.json', content: toJson({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([digest, content]) => ({ name: `blobs/${digest.replace(':', '/')}`, content })),
  ]);
}

/**
 * The descriptors of the manifests of such images, in the order of the images, and all blobs by their digests.
 * @param {string} busybox path of a statically linked busybox
 * @param {Image[]} images
 */
export function packImages(busybox, images) {
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const layer = packTar([
    ...['bin/', 'dev/', 'etc/', 'proc/', 'sys/', 'tmp/'].map((name) => ({ name, mode: 0o755, type: '5' })),
    { name: 'bin/busybox', mode: 0o755, content: readFileSync(busybox) },
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet) => ({ name: `bin/${applet}`, mode: 0o777, type: '2', linkTo: 'busybox' })),
  ]);
  const packed = images.map((image) => packImage(layer, image));
  return {
    manifests: packed.map(({ described }) => described),
    blobs: new Map(packed.flatMap(({ blobs }) => blobs).map((content) => [digestOf(content), content])),
  };
}

/** @param {Buffer} base the layer with busybox @param {Image} image */
function packImage(base, { name, entries = [], settings = {} }) {
  const layers = [base, ...(entries.length > 0 ? [packTar(entries)] : [])];
  const config = toJson({
    architecture: architectures[process.arch] ?? process.arch,
    os: 'linux',
    config: { Entrypoint: ['/bin/sleep', '2147483647'], Env: ['PATH=/bin'], ...settings },
    rootfs: { type: 'layers', diff_ids: layers.map(digestOf) },
  });
  const manifest = toJson({
    schemaVersion: 2,
    mediaType: mediaType('manifest.v1+json'),
    config: describe(config, 'config.v1+json'),
    layers: layers.map((layer) => describe(layer, 'layer.v1.tar')),
  });
  // The names for ctr and for skopeo, which refuse an image without one.
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  return {
    described: { ...describe(manifest, 'manifest.v1+json'), annotations },
    blobs: [manifest, config, ...layers],
  };
}

/** @param {unknown} value */
const toJson = (value) => Buffer.from(JSON.stringify(value));
/** @param {Buffer} content */
const digestOf = (content) => `sha256:${createHash('sha256').update(content).digest('hex')}`;
/** @param {Buffer} content @param {string} kind */
const describe = (content, kind) => ({ mediaType: mediaType(kind), digest: digestOf(content), size: content.length });

/**
 * A POSIX ustar archive: a header block of 512 bytes for each entry, contents padded to 512, two empty blocks at the
 * end.
 * @param {Entry[]} entries
 */
function packTar(entries) {
  const blocks = entries.flatMap((entry) => {
    const content = entry.content ?? Buffer.alloc(0);
    return [packHeader(entry, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** @param {Entry} entry @param {number} size */
function packHeader({ name, mode = 0o644, type = '0', linkTo = '', owner = 0 }, size) {
  const header = Buffer.alloc(512);
  /** @param {number} value @param {number} width */
  const octal = (value, width) => value.toString(8).padStart(width - 1, '0');
  header.write(name, 0, 100);
  header.write(octal(mode, 8), 100);
  header.write(octal(owner, 8), 108); // uid
  header.write(octal(owner, 8), 116); // gid
  header.write(octal(size, 12), 124);
  header.write(octal(0, 12), 136); // modified in 1970: the same content gives the same digest
  header.write(' '.repeat(8), 148); // the checksum counts as spaces
  header.write(type, 156);
  header.write(linkTo, 157, 100);
  header.write('ustar\u000000', 257);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${octal(checksum, 7)}\0 `, 148);
  return header;
}

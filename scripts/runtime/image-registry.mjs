// A registry of tiny images on the loopback interface, for runtimes that pull in a network namespace of their own.
//
//   node scripts/runtime/image-registry.mjs BUSYBOX IMAGES     prints its port, and ends when standard input closes
//
// BUSYBOX is the path of a statically linked busybox, IMAGES that of a JSON list of images (tiny-image.mjs), in which
// the contents of files are texts. A client asks for an image by its name without the host: the registry stands in for
// every other one.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { packImages } from './tiny-image.mjs';

/** @import { Entry, Image } from './tiny-image.mjs' */
/** @typedef {Omit<Entry, 'content'> & { content?: string }} TextEntry */

const [busybox = '', list = ''] = process.argv.slice(2);
/** @type {(Omit<Image, 'entries'> & { entries?: TextEntry[] })[]} */
const listed = JSON.parse(readFileSync(list, 'utf8'));
const images = listed.map(({ entries = [], ...image }) => ({ ...image, entries: entries.map(toEntry) }));
const { manifests, blobs } = packImages(busybox, images);
const digests = new Map(images.map(({ name }, index) => [name, manifests[index]?.digest ?? '']));
const types = new Map(manifests.map(({ digest, mediaType }) => [digest, mediaType]));

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '', 'http://registry');
  const [, name = '', kind, reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
  const digest = kind === 'manifests' ? (digests.get(`${name}:${reference}`) ?? reference) : reference;
  const content = blobs.get(digest);
  if (pathname === '/v2/') response.end('{}');
  else if (content === undefined) response.writeHead(404).end();
  else {
    response.writeHead(200, {
      'content-type': types.get(digest) ?? 'application/octet-stream',
      'content-length': content.length,
      'docker-content-digest': digest,
    });
    response.end(request.method === 'HEAD' ? undefined : content);
  }
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') console.log(address?.port);
});
process.stdin.on('end', () => process.exit()).resume();

/** @param {TextEntry} entry @returns {Entry} */
function toEntry({ content, ...entry }) {
  return { ...entry, ...(content === undefined ? {} : { content: Buffer.from(content) }) };
}

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface Registry {
  /** An image reference that a runtime on this machine can pull. */
  readonly image: string;
  close(): void;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** An image registry on the loopback interface with one empty image. */
export async function openRegistry(): Promise<Registry> {
  const layer = Buffer.alloc(1024); // the end of a tar archive
  const packed = gzipSync(layer);
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = toJson({ architecture, os: 'linux', rootfs: { type: 'layers', diff_ids: [digestOf(layer)] } });
  const describe = (type: string, bytes: Buffer) => ({
    mediaType: `application/vnd.oci.image.${type}`,
    digest: digestOf(bytes),
    size: bytes.length,
  });
  const manifest = toJson({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: describe('config.v1+json', config),
    layers: [describe('layer.v1.tar+gzip', packed)],
  });
  const blobs = new Map([config, packed, manifest].map((bytes) => [digestOf(bytes), bytes]));

  const server = createServer((request, response) => {
    const [, , , kind, name = ''] = (request.url ?? '').split('/');
    const bytes = kind === 'manifests' && name === 'v1' ? manifest : blobs.get(name);
    if (request.url === '/v2/') response.end('{}');
    else if (bytes === undefined) response.writeHead(404).end();
    else {
      response.writeHead(200, {
        'content-type': bytes === manifest ? MANIFEST : 'application/octet-stream',
        'content-length': bytes.length,
        'docker-content-digest': digestOf(bytes),
      });
      response.end(request.method === 'HEAD' ? undefined : bytes);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    image: `127.0.0.1:${port}/nothing:v1`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function toJson(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

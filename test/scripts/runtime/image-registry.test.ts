import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Manifest {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
}

const script = join(__dirname, '../../../scripts/runtime/image-registry.mjs');
const images = [
  {
    name: 'group/web:1',
    entries: [{ name: 'bin/serve', mode: 0o755, content: 'serve this' }],
    settings: { User: '7' },
  },
  { name: 'plain:latest' },
];

let folder: string;
let registry: ChildProcess;
let url: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'registry-'));
  const [busybox, list] = [join(folder, 'busybox'), join(folder, 'images.json')];
  writeFileSync(busybox, '#!/bin/sh\necho sh\n', { mode: 0o755 });
  writeFileSync(list, JSON.stringify(images));
  registry = spawn(process.execPath, [script, busybox, list], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = (await once(registry.stdout!, 'data')) as [Buffer];
  url = `http://127.0.0.1:${String(port).trim()}/v2/`;
});
afterAll(() => {
  registry.kill();
  rmSync(folder, { recursive: true });
});

/** Without connections that stay open. */
const get = (path: string, method = 'GET') => fetch(url + path, { method, headers: { connection: 'close' } });
const readManifest = async (name: string) => (await (await get(name)).json()) as Manifest;

test('an image is found by its tag and by its digest, and its settings and files in its blobs', async () => {
  const byTag = await get('group/web/manifests/1', 'HEAD');
  const digest = byTag.headers.get('docker-content-digest') ?? '';
  expect([byTag.status, byTag.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.oci.image.manifest.v1+json',
  ]);
  const manifest = await readManifest(`group/web/manifests/${digest}`);
  const config = await (await get(`group/web/blobs/${manifest.config.digest}`)).json();
  expect(config).toMatchObject({ os: 'linux', config: { User: '7' } });
  const top = await (await get(`group/web/blobs/${manifest.layers.at(-1)?.digest}`)).text();
  expect(top).toContain('serve this');
  expect(top.length).toBe(manifest.layers.at(-1)?.size);
});

test('images share the layer with busybox, and one without files has no other', async () => {
  const [web, plain] = [await readManifest('group/web/manifests/1'), await readManifest('plain/manifests/latest')];
  expect(plain.layers).toEqual(web.layers.slice(0, 1));
});

test.each`
  given                 | path                       | status
  ${'the root'}         | ${''}                      | ${200}
  ${'another tag'}      | ${'group/web/manifests/2'} | ${404}
  ${'another image'}    | ${'web/manifests/1'}       | ${404}
  ${'no such digest'}   | ${'plain/blobs/sha256:0'}  | ${404}
  ${'another resource'} | ${'plain/tags/list'}       | ${404}
`('$given is answered with $status', async ({ path, status }: { path: string; status: number }) => {
  expect((await get(path)).status).toBe(status);
});

test('it ends when its standard input closes', async () => {
  registry.stdin?.end();
  expect(await once(registry, 'exit')).toEqual([0, null]);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import { brotliDecompressSync } from 'node:zlib';
import type * as KubeLibrary from '../../src/kube/client-library';
import { builtBundle } from '../support/built-bundle';

/** The code of a library that is compressed in the bundle. */
function unpack(name: string): string {
  const bundle = readFileSync(builtBundle(), 'utf8');
  const before = bundle.slice(0, bundle.indexOf(`"cpusetd/${name}.js"`)); // lines may end between any two tokens
  const packed = [...before.matchAll(/brotliDecompressSync\(\s*Buffer\s*\.\s*from\(\s*"([^"]+)"/g)].at(-1)![1]!;
  return brotliDecompressSync(Buffer.from(packed, 'base64')).toString();
}

describe('the client library of the API server, as it is packed', () => {
  let text: string;
  let library: typeof KubeLibrary;

  beforeAll(() => {
    text = unpack('client-library');
    const module = { exports: {} };
    compileFunction(text, ['module', 'exports', 'require'])(module, module.exports, require);
    library = module.exports as typeof KubeLibrary;
  });

  test('has none of the models of Kubernetes, and no table of all characters', () => {
    expect(text).not.toContain('V1PersistentVolumeSpec');
    expect(text.length).toBeLessThan(400_000);
  });

  test('reads a kubeconfig, and gives a request the identity in it', async () => {
    const config = new library.KubeConfig();
    config.loadFromString(
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        users: [{ name: 'u', user: { token: 't' } }],
        'current-context': 'x',
      }),
    );
    expect(config.getCurrentCluster()?.server).toBe('https://127.0.0.1:1');
    const options: Parameters<typeof config.applyToHTTPSOptions>[0] = { headers: {} };
    await config.applyToHTTPSOptions(options);
    expect(options.headers).toMatchObject({ Authorization: 'Bearer t' });
    expect(options.agent).toBeDefined();
  });
});

test('builds in two folders: the bundle is the same', () => {
  expect(readFileSync(builtBundle(), 'utf8')).not.toContain(join(__dirname, '../..'));
});

import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireApiServer } from './rig/api-server';
import { loadScript } from '../support/load-script';

interface Certificates {
  readonly makeAuthority: (dir: string) => void;
  readonly makeCertificate: (dir: string, owner: { readonly name: string; readonly addresses?: string[] }) => void;
}

requireApiServer()('certificates of a cluster', () => {
  test('two of one authority: their serial numbers differ, and no file of them is shared, for nodes are made at once', async () => {
    const { makeAuthority, makeCertificate } = await loadScript<Certificates>('cluster/certificates.mjs');
    const dir = mkdtempSync(join(tmpdir(), 'certificates-'));
    try {
      makeAuthority(dir);
      const before = readdirSync(dir);
      makeCertificate(dir, { name: 'a' });
      makeCertificate(dir, { name: 'b', addresses: ['127.0.0.1'] });
      const made = readdirSync(dir).filter((name) => !before.includes(name));
      expect(made.filter((name) => !/^[ab]\./.test(name))).toEqual([]);
      const [a, b] = ['a', 'b'].map((name) => new X509Certificate(readFileSync(join(dir, `${name}.crt`))));
      expect(a!.serialNumber).not.toBe(b!.serialNumber);
      expect(b!.verify(new X509Certificate(readFileSync(join(dir, 'ca.crt'))).publicKey)).toBe(true);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

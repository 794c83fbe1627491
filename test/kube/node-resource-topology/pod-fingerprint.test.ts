import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPodFingerprint } from '../../../src/kube/node-resource-topology/pod-fingerprint';

const known = JSON.parse(readFileSync(join(__dirname, '../../fixtures/podfingerprint/known.json'), 'utf8')) as {
  fingerprint: string;
  pods: string[];
}[];

function toPod(text: string) {
  const [namespace = '', name = ''] = text.split('/');
  return { namespace, name };
}

test.each(known)('$fingerprint is equal to the result of the library for these pods', async ({ fingerprint, pods }) => {
  const fingerprintOf = await loadPodFingerprint();
  expect(fingerprintOf(pods.map(toPod))).toBe(fingerprint);
  expect(fingerprintOf(pods.map(toPod).reverse())).toBe(fingerprint);
});

test('another pod, or the same name in another namespace, gives another fingerprint', async () => {
  const fingerprintOf = await loadPodFingerprint();
  const sets = [[], ['a/x'], ['b/x'], ['a/x', 'b/x'], ['x/a'], ['a/ü'], ['a/' + 'n'.repeat(63)]];
  const all = sets.map((pods) => fingerprintOf(pods.map(toPod)));
  expect(new Set(all).size).toBe(sets.length);
  for (const fingerprint of all) expect(fingerprint).toMatch(/^pfp0v001[0-9a-f]{16}$/);
});

import { findSpec, resolvePod, SpecMap } from '../../../src/core/model/spec-book';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { specOf } from '../../support/spec-of';
import { podOf } from '../transition/node-driver';

const mirrorOf = (podUid: string, more: Partial<PodSpec> = {}): PodSpec =>
  specOf(`mirror-of-${podUid}`, 'a 1', {
    name: podUid,
    annotations: { 'kubernetes.io/config.mirror': podUid, 'kubernetes.io/config.hash': podUid },
    ...more,
  });

function bookOf(...specs: PodSpec[]): { readonly podSpecs: SpecMap } {
  const podSpecs = new SpecMap();
  for (const spec of specs) {
    podSpecs.set(spec.uid, spec);
    podSpecs.follow(undefined, spec, spec.uid);
  }
  return { podSpecs };
}

test('a pod has the spec with its uid', () => {
  const spec = specOf('p', 'a 1');
  expect(findSpec(bookOf(specOf('q', 'a 1'), spec), podOf('p'))).toBe(spec);
});

test('a static pod has the spec of its mirror', () => {
  const mirror = mirrorOf('p');
  expect(findSpec(bookOf(mirror), podOf('p'))).toBe(mirror);
});

test.each([
  ['name', { name: 'other' }],
  ['namespace', { namespace: 'other' }],
])('a mirror with another %s does not count', (_what, more) => {
  const book = bookOf(mirrorOf('p', more));
  expect(findSpec(book, podOf('p'))).toBeUndefined();
  expect(book.podSpecs.ofRuntime('p')).toHaveLength(1);
});

test('a mirror does not count against a spec with the uid of the pod', () => {
  const spec = specOf('p', 'a 1');
  expect(findSpec(bookOf(mirrorOf('p'), spec), podOf('p'))).toBe(spec);
});

test('a removed spec is found no more', () => {
  const spec = mirrorOf('p');
  const { podSpecs } = bookOf(spec);
  podSpecs.follow(spec, undefined, spec.uid);
  expect([podSpecs.named('ns', 'p'), podSpecs.ofRuntime('p')]).toEqual([[], []]);
});

test('a resolved pod has the annotations of its spec, and those of its sandbox without one', () => {
  const pod = { ...podOf('p'), annotations: { of: 'sandbox' } };
  const spec = specOf('p', 'a 1', { annotations: { of: 'spec' } });
  const podLevel = new Map([['p', { podUid: 'p', shown: 'whole' as const, shares: 2048 }]]);
  expect(resolvePod({ ...bookOf(spec), podLevel: new Map() }, pod)).toEqual({
    ...pod,
    spec,
    sandbox: pod,
    annotations: { of: 'spec' },
  });
  expect(resolvePod({ ...bookOf(), podLevel }, pod)).toMatchObject({
    spec: undefined,
    annotations: { of: 'sandbox' },
    podLevel: { shares: 2048 },
  });
});

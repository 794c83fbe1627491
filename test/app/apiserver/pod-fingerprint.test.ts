import { PodFingerprint } from '../../../src/app/apiserver/pod-fingerprint';
import { NodeDriver } from '../../core/transition/node-driver';
import { specOf } from '../../support/spec-of';

async function withClock(mode: 'dedicated' | 'off' = 'dedicated') {
  const lines: string[] = [];
  let nowMs = 0;
  const write =
    (level: string) =>
    (...args: unknown[]): void =>
      void lines.push(
        [level, ...args.map((arg) => (typeof arg === 'string' ? arg.slice(0, 44) : (arg as { pod: string }).pod))].join(
          ' ',
        ),
      );
  const log = { debug: write('debug'), info: write('info'), warn: write('warn') };
  const fingerprint = new PodFingerprint({ mode, log, nowMs: () => nowMs });
  const node = new NodeDriver();
  const waits = ['p'].map((uid) => ({ phase: 'Pending', spec: specOf(uid, 'db 2') }));
  await fingerprint.load();
  return { fingerprint, node, waits, lines, wait: (ms: number) => (nowMs += ms) };
}

test('a fingerprint exists only when it is wanted, loaded and the pods are known', async () => {
  const { fingerprint, node } = await withClock();
  expect(fingerprint.of(undefined, node.model)).toBeUndefined();
  expect(fingerprint.of([], node.model)).toMatch(/^pfp0v001/);
  const off = await withClock('off');
  expect(off.fingerprint.of([], node.model)).toBeUndefined();
  const unloaded = new PodFingerprint({
    mode: 'dedicated',
    log: { debug: jest.fn(), info: jest.fn(), warn: jest.fn() },
  });
  expect(unloaded.of([], node.model)).toBeUndefined();
});

test('a pod that waits for its CPUs withholds the fingerprint; after a minute that is one warning, and the end is logged', async () => {
  const { fingerprint, node, waits, lines, wait } = await withClock();
  for (let i = 0; i < 4; i++) {
    expect(fingerprint.of(waits, node.model)).toBeUndefined();
    wait(25_000);
  }
  node.run('pod p; make p/db 2');
  expect(fingerprint.of(waits, node.model)).toMatch(/^pfp0v001/);
  expect(lines).toEqual([
    'debug ns/p the fingerprint of the pods is withheld: thi',
    'warn ns/p the fingerprint of the pods is withheld for ',
    'info the fingerprint of the pods is published aga',
  ]);
});

test('a wait below a minute is one debug line', async () => {
  const { fingerprint, node, waits, lines, wait } = await withClock();
  fingerprint.of(waits, node.model);
  wait(59_000);
  fingerprint.of(waits, node.model);
  fingerprint.of([], node.model);
  expect(lines).toHaveLength(1);
});

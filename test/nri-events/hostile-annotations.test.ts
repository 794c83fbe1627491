import { readEvent } from '../../src/nri-events/read-event';
import { leastCpuMsOf } from '../support/cpu-time';
import { costlyAnnotations, encodeCreation, manyAnnotations } from '../support/hostile-annotations';

const pod = { uid: 'u', name: 'p', sandboxId: 's' };
const names = Array.from({ length: 300 }, (_, i) => `c${i}`);
const annotationsOf = (payload: Uint8Array) => {
  const event = readEvent('CreateContainer', payload);
  return event !== 'ignored' && event.kind === 'create-container' ? event.pod.annotations : undefined;
};

test('annotations that matter are read among any others', () => {
  const choice = { 'cpusetd.io/policy': 'none', 'cpu-policy.topology.crane.io/container.app': 'numa' };
  expect(annotationsOf(encodeCreation(pod, { ...manyAnnotations(), ...choice, __proto__: 'x' }))).toEqual(choice);
});

test('bytes that are no annotation are skipped', () => {
  const payload = encodeCreation(pod, { 'cpusetd.io/policy': 'none' });
  const name = Buffer.from(payload).indexOf('cpusetd.io/policy');
  payload[name - 1] = 127; // a name longer than the entry
  expect(annotationsOf(payload)).toEqual({});
});

test.each`
  name                                        | annotations
  ${'65,536 of the shortest names'}           | ${manyAnnotations()}
  ${'256 KiB of names like those of cpusetd'} | ${costlyAnnotations(names)}
  ${'one note of 256 KiB'}                    | ${{ note: 'x'.repeat(256 * 1024) }}
`('$name cost a creation less than 20 ms', ({ annotations }: { annotations: Record<string, string> }) => {
  const payload = encodeCreation(pod, annotations);
  expect(leastCpuMsOf(() => payload, (bytes) => readEvent('CreateContainer', bytes), { limitMs: 20 })).toBeLessThan(20); // prettier-ignore
  expect(JSON.stringify(annotationsOf(payload)).length).toBeLessThan(64 * 1024);
});

import { qosActionsFormat } from '../../src/app/owed-effects/qos-actions';
import { parseCpuList } from '../../src/core/cpuset';
import { irqAffinitiesFormat, publishedOnNodeFormat, takenCpusFormat } from '../../src/state';
import { openEnvelope, seal } from '../../src/state/envelope';

const throttle = {
  id: 'c1',
  podUid: 'u1',
  namespace: 'ns',
  pod: 'p',
  container: 'c',
  periodUs: 100_000,
  originalUs: 400_000,
  quotaUs: 50_000,
  previousUs: 60_000,
  causes: [{ rule: 'q/r', action: 'a' }],
  sinceMs: 7,
};
const spent = [{ atMs: 5, namespace: 'ns' }];
const NOTES = {
  'qos-actions': [
    qosActionsFormat,
    { bootId: 'b', tainted: true, throttles: [throttle], actions: spent, evictions: spent },
  ],
  'irq-affinities': [
    irqAffinitiesFormat,
    { bootId: 'b', originals: [{ irq: 24, device: 'eth0', original: parseCpuList('0-7') }] },
  ],
  'node-resources': [publishedOnNodeFormat, { nodeName: 'node-a' }],
  'taken-cpus': [takenCpusFormat, { bootId: 'b', owed: parseCpuList('3,7'), inner: [] }],
} as const;

test.each(Object.entries(NOTES))('%s: a text with one other character is never read as something else', (_, note) => {
  const [format, value] = note as readonly [typeof qosActionsFormat, Parameters<typeof qosActionsFormat.encode>[0]];
  const text = format.encode(value);
  const valueOf = (found: string): string => {
    const decoded = format.decode(found);
    return decoded.ok ? format.encode(decoded.value) : '';
  };
  expect(valueOf(text)).toBe(text);
  expect(valueOf(text.replace(/,"checksum":"[^"]*"/, ''))).toBe('');
  expect(valueOf(text.replace('"checksum"', '"checksun"'))).toBe('');
  const accepted: string[] = [];
  for (let at = 0; at < text.length; at++)
    for (const other of ['', '0', '9', ' ', '"', ';', String.fromCharCode(text.charCodeAt(at) ^ 1)]) {
      const found = text.slice(0, at) + other + text.slice(at + 1);
      if (!['', text].includes(valueOf(found))) accepted.push(found);
    }
  expect(accepted).toEqual([]);
  for (let length = 0; length < text.length - 1; length++) expect(valueOf(text.slice(0, length))).toBe('');
});

test('white space does not matter, the order of fields does', () => {
  const text = seal('{"version":1,"list":[\n1,\n2\n]}');
  expect(openEnvelope(text)).toMatchObject({ ok: true, seal: 'good', content: { version: 1, list: [1, 2] } });
  expect(openEnvelope(JSON.stringify(JSON.parse(text), null, 4))).toMatchObject({ ok: true, seal: 'good' });
  const { version, ...rest } = JSON.parse(text) as Record<string, unknown>;
  expect(openEnvelope(JSON.stringify({ ...rest, version }))).toMatchObject({ ok: true, seal: 'wrong' });
});

test.each([
  ['', 'empty'],
  [' \n', 'empty'],
  ['{"version":1,', 'torn'],
  ['[]', 'foreign'],
  ['null', 'foreign'],
])('%j is %s', (text, kind) => {
  expect(openEnvelope(text)).toMatchObject({ ok: false, kind });
});

test('a text that is nested deeper than the stack is answered', () => {
  const deep = `{"version":1,"a":${'['.repeat(100_000)}${']'.repeat(100_000)},"checksum":"x"}`;
  expect(openEnvelope(deep)).toMatchObject({ ok: true, seal: 'wrong' });
});

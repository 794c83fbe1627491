import { formatKubeletState, formatKubeletStateV1, parseKubeletState } from '../../../src/state/kubelet-checkpoint';
import {
  hashFnv1a,
  printData,
  printV1,
  printV2,
  printV3,
  type Printed,
} from '../../../src/state/kubelet-checkpoint/go-spew';
import { formatKubeletContent } from '../../../src/state/kubelet-checkpoint/format';
import { stateOf, stateV1Of, VECTORS, type Vector } from './vectors';

function print(vector: Vector): Printed {
  switch (vector.format) {
    case 'v1':
      return printV1(stateV1Of(vector));
    case 'v2':
      return printV2(stateOf(vector));
    case 'v3':
      return printV3(stateOf(vector));
    case 'v4':
      return printData(formatKubeletContent(stateOf(vector)));
  }
}

test('there are 40 vectors of all four formats', () => {
  expect(VECTORS).toHaveLength(40);
  expect(new Set(VECTORS.map(({ format }) => format)).size).toBe(4);
});

const rows = VECTORS.map((vector) => [vector.id, vector.format, vector.note ?? '', vector] as const);

test.each(rows)('%s (%s %s): the printed form and hash of the kubelet', (_id, format, note, vector) => {
  expect([...print(vector)].join('')).toBe(vector.printed);
  const stored = format === 'v4' ? vector.dataChecksum : vector.checksum;
  expect(hashFnv1a(print(vector))).toBe(hashFnv1a([vector.printed]));
  if (vector.valid && note !== 'checksum 0 is accepted') expect(hashFnv1a(print(vector))).toBe(stored);
  else expect(hashFnv1a(print(vector))).not.toBe(stored);
});

test.each(rows)('%s (%s %s): the parsed state of the kubelet', (_id, format, _note, vector) => {
  const parsed = parseKubeletState(vector.file);
  if (!vector.valid) expect(parsed).toMatchObject({ ok: false, problem: 'corrupted' });
  else expect(parsed).toEqual({ ok: true, format, state: format === 'v1' ? stateV1Of(vector) : stateOf(vector) });
});

test.each(rows)('%s (%s %s): the written file, byte for byte', (_id, format, _note, vector) => {
  const text = format === 'v1' ? formatKubeletStateV1(stateV1Of(vector)) : formatKubeletState(stateOf(vector), format);
  // Some vectors have a wrong stored checksum on purpose. The right one is expected instead.
  const right = hashFnv1a([vector.printed]);
  const stored = format === 'v4' || right === vector.checksum;
  expect(text).toBe(stored ? vector.file : vector.file.replace(/\d+}$/, `${right}}`));
});

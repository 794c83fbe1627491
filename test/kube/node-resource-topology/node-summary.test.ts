import { ALARM_KINDS } from '../../../src/admin/model/alarm';
import { formatSummary, parseSummary, type NodeSummary } from '../../../src/kube/node-resource-topology/node-summary';

const PLAIN: NodeSummary = {
  policy: 'static',
  available: [5, 3],
  freeCores: 3,
  freeNodes: 1,
  aligned: { physical_cpu: 6, uncore_cache: 4, numa_node: 5 },
  pinned: 2,
  verdicts: {},
  alarms: [],
};
const MOST = Number.MAX_SAFE_INTEGER;
const FULL: NodeSummary = {
  policy: 'immovable',
  available: Array.from({ length: 64 }, () => 9_999),
  freeCores: MOST,
  freeNodes: MOST,
  aligned: { physical_cpu: MOST, uncore_cache: MOST, numa_node: MOST },
  pinned: MOST,
  verdicts: { drifted: MOST, violated: MOST, unknown: MOST, 'held-under-old-rules': MOST },
  alarms: [...ALARM_KINDS],
  gap: { from: '2026-11-25T10:00:00.000Z', to: '2026-11-25T10:00:01.000Z', containers: MOST },
};

test.each([
  ['without anything to tell', PLAIN],
  ['with all there is', FULL],
])('a summary %s is read as it was written', (_name, summary) => {
  expect(parseSummary(formatSummary(summary))).toEqual(summary);
});

test('the summary of 64 NUMA nodes with all there is to tell has less than 2 KiB', () => {
  expect(Buffer.byteLength(formatSummary(FULL))).toBeLessThan(2048);
});

test.each(['', '[]', 'null', '{', '{"policy":"other"}', '{"policy":7}', JSON.stringify({ policy: 'x'.repeat(5_000) })])(
  'the text %.20s is no summary',
  (text) => {
    expect(parseSummary(text)).toBeUndefined();
  },
);

test('fields of another type, negative numbers and fields of a newer version count as absent', () => {
  const text = JSON.stringify({
    policy: 'static',
    podPolicies: 'static',
    cpusPerCore: -1,
    freeCores: '3',
    aligned: 7,
    pinned: 1.5,
    extra: 1,
    verdicts: { drifted: -1, kept: 5 },
    alarms: {},
  });
  expect(parseSummary(text)).toEqual({
    ...PLAIN,
    available: [],
    freeCores: 0,
    freeNodes: 0,
    aligned: { physical_cpu: 0, uncore_cache: 0, numa_node: 0 },
    pinned: 0,
  });
});

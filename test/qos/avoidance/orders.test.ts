import type { Finding, FindingState } from '../../../src/qos/analysis/finding';
import { ordersOf } from '../../../src/qos/avoidance/orders';

const series = [{ labels: {}, value: 9, atMs: 0 }];

function findingOf(state: FindingState, more: Partial<Finding> = {}): Finding {
  return {
    key: 'q/r',
    nodeQos: 'q',
    rule: 'r',
    state,
    hasTriggered: false,
    above: 0,
    notAbove: 0,
    avoidanceThreshold: 1,
    restoreThreshold: 2,
    metric: 'm',
    threshold: 5,
    series,
    fired: [],
    actionName: 'a',
    action: { name: 'a', coolDownSeconds: 0 },
    isPreview: false,
    because: '',
    ...more,
  };
}

const LOST: Partial<Finding> = { series: [] };

test.each<[string, Finding, { triggered: number; restored: number; acting: number }]>([
  ['triggered', findingOf('triggered', { hasTriggered: true }), { triggered: 1, restored: 0, acting: 1 }],
  ['counting up', findingOf('firing', { above: 1 }), { triggered: 0, restored: 0, acting: 1 }],
  ['restoring', findingOf('restoring', { hasTriggered: true, notAbove: 1 }), { triggered: 0, restored: 0, acting: 1 }],
  ['restored', findingOf('restored', { notAbove: 2 }), { triggered: 0, restored: 1, acting: 1 }],
  ['calm since it restored', findingOf('calm', { notAbove: 2 }), { triggered: 0, restored: 1, acting: 1 }],
  ['calm for less than it takes', findingOf('calm', { notAbove: 1 }), { triggered: 0, restored: 0, acting: 1 }],
  [
    'triggered, and without data now',
    findingOf('no-data', { ...LOST, hasTriggered: true }),
    { triggered: 0, restored: 0, acting: 1 },
  ],
  [
    'calm since it restored, and without data now',
    findingOf('no-data', { ...LOST, notAbove: 2 }),
    { triggered: 0, restored: 1, acting: 1 },
  ],
  ['without data for long', findingOf('restored', LOST), { triggered: 0, restored: 0, acting: 0 }],
  ['without data still', findingOf('no-data', LOST), { triggered: 0, restored: 0, acting: 0 }],
  ['a preview', findingOf('triggered', { isPreview: true }), { triggered: 1, restored: 0, acting: 0 }],
])('a rule that is %s', (_name, finding, want) => {
  const { triggered, restored, actingRules } = ordersOf([finding]);
  expect({ triggered: triggered.length, restored: restored.length, acting: actingRules.length }).toEqual(want);
});

test('without an action nothing is asked for; with one, the order has all that the planner needs', () => {
  const { action, ...without } = findingOf('triggered', { hasTriggered: true });
  expect(ordersOf([without])).toEqual({ triggered: [], restored: [], actingRules: [] });
  expect(ordersOf([{ ...without, ...(action && { action }) }])).toEqual({
    triggered: [{ rule: 'q/r', metric: 'm', threshold: 5, values: [9], action, isPreview: false }],
    restored: [],
    actingRules: ['q/r'],
  });
});

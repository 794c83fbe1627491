import { chooseLeaveAlone } from '../../../src/core/annotations/leave-alone';
import { parseLeaveAloneRule } from '../../../src/core/model/leave-alone-rule';

test('given many rules and a pod of many containers, then each rule is compared with the pod once', () => {
  let reads = 0;
  const leaveAlone = Array.from({ length: 256 }, (_, i) => {
    const rule = parseLeaveAloneRule(`*-${i}*/*web*-${i}/x*`)!;
    return Object.defineProperty({ ...rule }, 'namespace', { get: () => (reads++, rule.namespace) });
  });
  const pod = { namespace: 'team-255', name: 'web-255', annotations: {} };
  const choices = Array.from({ length: 100 }, (_, i) =>
    chooseLeaveAlone({ leaveAlone }, pod, `${i < 50 ? 'x' : 'y'}${i}`),
  );
  expect(choices.filter(({ leaves }) => leaves?.part === 'all')).toHaveLength(50);
  expect(reads).toBe(256);
});

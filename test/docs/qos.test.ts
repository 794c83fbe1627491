import { parseAllDocuments } from 'yaml';
import { parseAvoidanceAction, parseNodeQos, parsePodQos } from '../../src/kube';
import { isThrottleMetric, resourceOf } from '../../src/qos/avoidance/gap';
import { METRIC } from '../../src/qos/usage/names';
import { readPage, readTable } from './markdown';

// The objects and the tables of docs/qos.md, against the code that reads them.

const page = readPage('qos.md');

interface KubeObject {
  readonly kind: string;
}

const objects = [...page.slice(page.indexOf('\n## Rules and actions\n')).matchAll(/```yaml\n([^]*?)```/g)]
  .flatMap(([, text]) => parseAllDocuments(text!).map((document) => document.toJS() as KubeObject))
  .map((object) => ({ ...object, metadata: { uid: 'u', ...(object as { metadata?: object }).metadata } }));
const ofKind = (kind: string): unknown => objects.find((object) => object.kind === kind);

test('the three objects are a rule that throttles the pods of its PodQOS', () => {
  const [nodeQos, podQos, action] = [
    parseNodeQos(ofKind('NodeQOS')),
    parsePodQos(ofKind('PodQOS')),
    parseAvoidanceAction(ofKind('AvoidanceAction')),
  ];
  if (!nodeQos.ok || !podQos.ok || !action.ok) throw new Error(JSON.stringify([nodeQos, podQos, action]));
  const [rule] = nodeQos.value.rules;
  expect(Object.values<string>(METRIC)).toContain(rule!.metric.name);
  expect(isThrottleMetric(rule!.metric.name)).toBe(true);
  expect(rule!.actionName).toBe(action.value.name);
  expect(action.value.throttle).toBeDefined();
  expect(podQos.value.allowedActions).toEqual([action.value.name]);
  expect(objects).toHaveLength(3);
});

test('the table of metrics says which of them throttle, and until an excess is gone', () => {
  const rows = readTable(page, '## Rules and actions');
  expect(rows).toHaveLength(3);
  for (const [cell = '', throttles = '', , until = ''] of rows)
    for (const name of cell.match(/\b[a-z]+(?:_[a-z]+)+\b/g)!) {
      expect([name, isThrottleMetric(name)]).toEqual([name, throttles.startsWith('yes')]);
      expect([name, resourceOf(name) !== undefined]).toEqual([name, until.includes('excess')]);
    }
});

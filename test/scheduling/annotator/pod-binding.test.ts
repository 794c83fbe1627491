import { bindingOfPod } from '../../../src/scheduling/annotator/pod-binding';

const created = '2023-03-01T10:00:00Z';
const at = (time: string): number => Date.parse(time);
const scheduled = (lastTransitionTime: unknown, status = 'True') => ({
  conditions: [
    { type: 'Ready', status: 'True', lastTransitionTime: '2023-03-01T12:00:00Z' },
    { type: 'PodScheduled', status, lastTransitionTime },
  ],
});
const pod = (status: object, spec: object = { nodeName: 'node-7' }) => ({
  metadata: { uid: 'pod-1', name: 'web', creationTimestamp: created },
  spec,
  status,
});

test.each`
  given                                      | status                                   | want
  ${'the time that the API server bound it'} | ${scheduled('2023-03-01T10:00:01Z')}     | ${'2023-03-01T10:00:01Z'}
  ${'a time with parts of a second'}         | ${scheduled('2023-03-01T10:00:01.900Z')} | ${'2023-03-01T10:00:01Z'}
`('given $given: $want', ({ status, want }: { status: object; want: string }) => {
  expect(bindingOfPod(pod(status))).toEqual({ uid: 'pod-1', node: 'node-7', timestampMs: at(want) });
});

test.each([
  pod({}), // created with its node, which may not exist
  pod(scheduled('2023-03-01T10:00:01Z', 'False')),
  pod(scheduled(7)),
  pod(scheduled(created), {}),
  pod(scheduled(created), { nodeName: 7 }),
  { metadata: { uid: 'pod-1' }, spec: { nodeName: 'node-7' } },
  { metadata: { creationTimestamp: created }, spec: { nodeName: 'node-7' } },
  null,
  [],
  'pod',
])('given %j: no binding', (object) => {
  expect(bindingOfPod(object)).toBeUndefined();
});

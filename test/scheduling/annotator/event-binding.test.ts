import { bindingOfEvent } from '../../../src/scheduling/annotator/event-binding';

const event = (more: object = {}): object => ({
  metadata: { name: 'p1.17', namespace: 'default', uid: 'event-1', creationTimestamp: '2023-03-01T10:00:09Z' },
  type: 'Normal',
  reason: 'Scheduled',
  message: 'Successfully assigned default/p1 to node-7',
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p1', uid: 'pod-1' },
  eventTime: '2023-03-01T10:00:01.900000Z',
  firstTimestamp: null,
  lastTimestamp: null,
  ...more,
});
const at = (time: string): number => Date.parse(time);

test('given an Event of the new API: node, pod uid and eventTime in whole seconds', () => {
  expect(bindingOfEvent(event())).toEqual({ uid: 'pod-1', node: 'node-7', timestampMs: at('2023-03-01T10:00:01Z') });
});

const last = '2023-03-01T10:00:05Z';
const first = '2023-03-01T10:00:03Z';
test.each`
  given                              | fields                                        | want
  ${'a count'}                       | ${{ count: 1, lastTimestamp: last }}          | ${last}
  ${'a count of 0'}                  | ${{ count: 0, lastTimestamp: last }}          | ${'2023-03-01T10:00:01Z'}
  ${'a count and no lastTimestamp'}  | ${{ count: 2 }}                               | ${'2023-03-01T10:00:01Z'}
  ${'no count and no eventTime'}     | ${{ eventTime: null, lastTimestamp: last }}   | ${last}
  ${'only a firstTimestamp'}         | ${{ eventTime: null, firstTimestamp: first }} | ${first}
  ${'only the time of its creation'} | ${{ eventTime: null }}                        | ${'2023-03-01T10:00:09Z'}
`('given $given: the time is $want', ({ fields, want }: { fields: object; want: string }) => {
  expect(bindingOfEvent(event(fields))?.timestampMs).toBe(at(want));
});

test('given no uid of the pod: the uid of the Event', () => {
  expect(bindingOfEvent(event({ involvedObject: { namespace: 'default', name: 'p1' } }))?.uid).toBe('event-1');
});

test.each<[string, object]>([
  ['another type', { type: 'Warning' }],
  ['another reason', { reason: 'FailedScheduling' }],
  ['another message', { message: 'Successfully assigned default/p1 to node-7 and more' }],
  ['a message with a text before it', { message: 'x Successfully assigned default/p1 to node-7' }],
  ['a message of another pod than its own', { message: 'Successfully assigned kube-system/p1 to node-7' }],
  ['no message', { message: null }],
  ['no time', { eventTime: 'x', metadata: { uid: 'event-1' } }],
  ['no uid', { metadata: {}, involvedObject: { namespace: 'default', name: 'p1' } }],
])('given %s: no binding', (_name, fields) => {
  expect(bindingOfEvent(event(fields))).toBeUndefined();
});

test.each([[null], [[]], ['x'], [{}]])('given %j: no binding', (object) => {
  expect(bindingOfEvent(object)).toBeUndefined();
});

import pino from 'pino';
import type { KubeRequest } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import { NodeCondition, type NodeState } from '../../../src/kube/reporting/node-condition';
import { waitUntil } from '../../support/wait-until';

let end: AbortController;
beforeEach(() => (end = new AbortController()));
afterEach(() => end.abort());

function watch(answer: () => unknown = () => ({})) {
  const calls: KubeRequest[] = [];
  const lines: { readonly level: number; readonly verb?: string; readonly resource?: string }[] = [];
  let state: NodeState = { ready: true, reason: 'Pinning', message: 'fine' };
  let second = 0;
  let isBroken = false;
  let asked = 0;
  const condition = new NodeCondition({
    client: { send: async (call) => (calls.push(call), answer()) },
    nodeName: 'n1',
    state: () => {
      if (!isBroken) return state;
      asked++;
      throw new Error('a fault of our own');
    },
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) }),
    signal: end.signal,
    now: () => new Date(Date.UTC(2026, 0, 1, 0, 0, second++)).toISOString(),
    debounceMs: 5,
  });
  const written = () =>
    calls.map(({ body }) => (body as { status: { conditions: Record<string, string>[] } }).status.conditions[0]!);
  return {
    condition,
    calls,
    lines,
    written,
    become: (next: NodeState) => (state = next),
    breakState: (broken: boolean) => (isBroken = broken),
    timesAsked: () => asked,
  };
}

test('it is written by a patch of the status that leaves other conditions alone', async () => {
  const { condition, calls } = watch();
  condition.touch();
  await waitUntil('written', () => calls.length === 1);
  expect(calls[0]).toMatchObject({
    method: 'PATCH',
    path: '/api/v1/nodes/n1/status',
    contentType: 'application/strategic-merge-patch+json',
    body: { status: { conditions: [{ type: 'CpusetdReady', status: 'True', reason: 'Pinning', message: 'fine' }] } },
  });
});

test('only a change is written, and the transition is when ready changed', async () => {
  const { condition, written, become } = watch();
  condition.touch();
  await waitUntil('written', () => written().length === 1);
  condition.touch();
  become({ ready: true, reason: 'Pinning', message: 'still fine' });
  condition.touch();
  await waitUntil('the other message', () => written().length === 2);
  become({ ready: false, reason: 'Alarm', message: 'look' });
  condition.touch();
  await waitUntil('not ready', () => written().length === 3);
  const [first, second, third] = written();
  expect(written().map(({ status }) => status)).toEqual(['True', 'True', 'False']);
  expect(second!['lastTransitionTime']).toBe(first!['lastTransitionTime']);
  expect(third!['lastTransitionTime']).not.toBe(first!['lastTransitionTime']);
});

test('a condition that could not be written is written later, with the state at that time', async () => {
  let failures = 1;
  const { condition, written, become } = watch(() => {
    if (failures-- > 0) throw new KubeError('away', 0);
    return {};
  });
  condition.touch();
  await waitUntil('tried', () => written().length === 1);
  become({ ready: false, reason: 'Alarm', message: 'look' });
  condition.touch();
  await waitUntil('written', () => written().length === 2);
  expect(written()[1]).toMatchObject({ status: 'False' });
});

test('an error of the state function is retried, and not thrown', async () => {
  const { condition, calls, breakState, timesAsked } = watch();
  breakState(true);
  expect(() => condition.touch()).not.toThrow();
  await waitUntil('asked again', () => timesAsked() > 2);
  expect(calls).toEqual([]);
  breakState(false);
  await waitUntil('written', () => calls.length === 1);
});

test('the condition is written again every five minutes, as a heartbeat', async () => {
  jest.useFakeTimers();
  try {
    const { condition, written } = watch();
    condition.touch();
    await jest.advanceTimersByTimeAsync(10);
    expect(written()).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(5 * 60_000 - 10);
    expect(written()).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(10);
    expect(written()).toHaveLength(2);
    await jest.advanceTimersByTimeAsync(60 * 60_000 + 12); // each timer is set 1 ms later, because Node's may fire 1 ms early
    expect(written()).toHaveLength(14);
    const [first, second] = written();
    expect(second!['lastHeartbeatTime']).not.toBe(first!['lastHeartbeatTime']);
    expect(second!['lastTransitionTime']).toBe(first!['lastTransitionTime']);
  } finally {
    jest.useRealTimers();
  }
});

test('a missing right is logged once at info, and the write is tried again', async () => {
  let mayPatch = false;
  const { condition, calls, lines } = watch(() => {
    if (!mayPatch) throw new KubeError('forbidden', 403);
    return {};
  });
  condition.touch();
  await waitUntil('tried twice', () => calls.length === 2);
  mayPatch = true;
  await waitUntil('tried again', () => calls.length === 3);
  expect(lines).toEqual([expect.objectContaining({ level: 30, verb: 'patch', resource: 'nodes/status' })]);
});

import pino from 'pino';
import type { KubeRequest } from '../../../src/kube/api/kube-client';
import { KubeError } from '../../../src/kube/api/kube-error';
import {
  checkLeaseTimes,
  leadWhileHeld,
  unrivalled,
  type LeaderElectionParts,
  type Leadership,
} from '../../../src/kube/leases/leader-election';
import { readLease } from '../../../src/kube/leases/lease';
import { waitUntil, within } from '../../support/wait-until';

type Json = Record<string, unknown>;

/** The API server, as far as one Lease needs it. */
class LeaseStore {
  object: Json | undefined;
  readonly calls: string[] = [];
  isAway = false;
  /** Called while a call is under way. */
  onCall = (): void => undefined;
  private version = 0;

  readonly send = async (call: KubeRequest): Promise<unknown> => {
    await Promise.resolve();
    this.onCall();
    if (this.isAway) throw new KubeError("the API server can't be reached", 0);
    this.calls.push(call.method);
    if (call.method === 'GET') {
      if (!this.object) throw new KubeError('not found', 404);
      return structuredClone(this.object);
    }
    if (call.method === 'POST') {
      if (this.object) throw new KubeError('exists', 409);
    } else if (versionOf(call.body) !== versionOf(this.object)) throw new KubeError('conflict', 409);
    return this.store(call.body as Json);
  };

  store(object: Json): Json {
    const metadata = { ...(object['metadata'] as Json), resourceVersion: String(++this.version) };
    this.object = { ...object, metadata };
    return structuredClone(this.object);
  }

  get holder(): string {
    return readLease(this.object).holder;
  }
}

const versionOf = (object: unknown): unknown => ((object as Json | undefined)?.['metadata'] as Json)['resourceVersion'];

const TIMES = { leaseDurationMs: 1_000, renewDeadlineMs: 400, retryPeriodMs: 50 };
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

function candidate(store: LeaseStore, identity: string, more: Partial<LeaderElectionParts> = {}) {
  const stop = new AbortController();
  stops.push(stop);
  let leadership: Leadership | undefined;
  const outcome = leadWhileHeld(
    {
      client: store,
      namespace: 'crane-system',
      name: 'l',
      identity,
      log: pino({ level: 'silent' }),
      signal: stop.signal,
      ...TIMES,
      ...more,
    },
    async (given) => {
      leadership = given;
      if (!given.signal.aborted)
        await new Promise((resolve) => given.signal.addEventListener('abort', resolve, { once: true }));
    },
  );
  const leads = (): boolean => {
    try {
      leadership?.assertHeld();
      return leadership !== undefined;
    } catch {
      return false;
    }
  };
  return { stop, outcome, leads, leadership: () => leadership! };
}

test('given no Lease: the first candidate creates it with the fields of coordination.k8s.io/v1', async () => {
  const store = new LeaseStore();
  const { leads } = candidate(store, 'host_1');
  await waitUntil('leading', leads);
  const { apiVersion, kind, metadata, spec } = store.object as Record<string, Json>;
  expect({ apiVersion, kind }).toEqual({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' });
  expect(metadata).toMatchObject({ name: 'l', namespace: 'crane-system' });
  expect(spec).toEqual({
    holderIdentity: 'host_1',
    leaseDurationSeconds: 1,
    acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    renewTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    leaseTransitions: 0,
  });
});

test('given two candidates: one leads; when it ends in order, the lease is released and the other leads before it would expire', async () => {
  const store = new LeaseStore();
  const first = candidate(store, 'a');
  await waitUntil('a leads', first.leads);
  const second = candidate(store, 'b');
  await waitUntil('the lease is renewed', () => store.calls.filter((call) => call === 'PUT').length > 3);
  expect(second.leads()).toBe(false);
  first.stop.abort();
  await expect(first.outcome).resolves.toBe('ended');
  expect(first.leads()).toBe(false);
  await waitUntil('b leads', second.leads);
  expect(readLease(store.object)).toMatchObject({ holder: 'b', transitions: 1 });
});

test('given a holder that renews no more: another takes over only after the lease duration by its own clock', async () => {
  const store = new LeaseStore();
  const spec = {
    holderIdentity: 'dead',
    leaseDurationSeconds: 1,
    leaseTransitions: 4,
    renewTime: '2999-01-01T00:00:00Z',
  };
  store.store({ metadata: { name: 'l' }, spec });
  const begunMs = performance.now();
  const { leads } = candidate(store, 'b');
  await waitUntil('b leads', leads);
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(1_000);
  expect(readLease(store.object)).toMatchObject({ holder: 'b', transitions: 5 });
});

test('given fields that others added to the Lease: they stay', async () => {
  const store = new LeaseStore();
  store.store({ metadata: { name: 'l', labels: { a: 'b' } }, spec: { holderIdentity: '', strategy: 'x' } });
  await waitUntil('leading', candidate(store, 'a').leads);
  expect(store.object).toMatchObject({
    metadata: { labels: { a: 'b' } },
    spec: { strategy: 'x', holderIdentity: 'a' },
  });
});

test('given an API server that is away for longer than the renew deadline: the lease is lost, and the signal aborts', async () => {
  const store = new LeaseStore();
  const { leads, outcome, leadership } = candidate(store, 'a');
  await waitUntil('leading', leads);
  store.isAway = true;
  await expect(within('the loss', outcome)).resolves.toBe('lost');
  expect(leadership().signal.aborted).toBe(true);
  expect(() => leadership().assertHeld()).toThrow(KubeError);
  expect(store.holder).toBe('a'); // nothing was written after the loss
});

test('given an API server that is away for a part of the renew deadline: the process goes on leading', async () => {
  const store = new LeaseStore();
  const { leads } = candidate(store, 'a');
  await waitUntil('leading', leads);
  const before = store.calls.length;
  store.isAway = true;
  setTimeout(() => (store.isAway = false), 2 * TIMES.retryPeriodMs);
  await waitUntil('it renews again', () => store.calls.length > before);
  expect(leads()).toBe(true);
});

test('given another holder in the Lease: the lease is lost at the next try', async () => {
  const store = new LeaseStore();
  const { leads, outcome } = candidate(store, 'a');
  await waitUntil('leading', leads);
  store.store({ metadata: { name: 'l' }, spec: { holderIdentity: 'thief', leaseDurationSeconds: 1 } });
  await expect(within('the loss', outcome)).resolves.toBe('lost');
  expect(store.holder).toBe('thief');
});

test('given a process that was paused for longer than the deadline: no write may start, before any timer has run', async () => {
  const store = new LeaseStore();
  let skippedMs = 0;
  const { leads, leadership } = candidate(store, 'a', { nowMs: () => performance.now() + skippedMs });
  await waitUntil('leading', leads);
  skippedMs = 60_000;
  expect(() => leadership().assertHeld()).toThrow('the lease is not ours any more');
});

test('given a slow API server: the lease counts from the beginning of the renewal, since others may have seen it then', async () => {
  const store = new LeaseStore();
  let skippedMs = 0;
  store.onCall = () => (skippedMs += 150); // a read and a creation: 300 of 400 ms
  const { leads, leadership } = candidate(store, 'a', { nowMs: () => skippedMs });
  await waitUntil('leading', leads);
  store.onCall = () => undefined;
  store.isAway = true;
  skippedMs += 120;
  expect(() => leadership().assertHeld()).toThrow('the lease is not ours any more');
});

test('given work that fails: the failure is passed on, and the lease is released', async () => {
  const store = new LeaseStore();
  const parts = { client: store, namespace: 'n', name: 'l', identity: 'a', log: pino({ level: 'silent' }), ...TIMES };
  const outcome = leadWhileHeld({ ...parts, signal: new AbortController().signal }, () =>
    Promise.reject(new Error('broken')),
  );
  await expect(outcome).rejects.toThrow('broken');
  expect(store.holder).toBe('');
});

test('given an end while another leads: it resolves at once and writes nothing', async () => {
  const store = new LeaseStore();
  store.store({ metadata: { name: 'l' }, spec: { holderIdentity: 'other', leaseDurationSeconds: 15 } });
  const { stop, outcome } = candidate(store, 'a');
  await waitUntil('it has asked', () => store.calls.length > 0);
  stop.abort();
  await expect(within('the end', outcome)).resolves.toBe('ended');
  expect(store.calls).not.toContain('PUT');
});

test('without rivals: writes may start until the signal aborts', () => {
  const stop = new AbortController();
  const { assertHeld } = unrivalled(stop.signal);
  expect(assertHeld).not.toThrow();
  stop.abort();
  expect(assertHeld).toThrow(KubeError);
});

test.each`
  leaseDurationMs | renewDeadlineMs | retryPeriodMs | faults
  ${15_000}       | ${10_000}       | ${2_000}      | ${0}
  ${10_000}       | ${10_000}       | ${2_000}      | ${1}
  ${15_000}       | ${10_000}       | ${9_000}      | ${1}
  ${1_000}        | ${2_000}        | ${2_000}      | ${2}
  ${1_900}        | ${1_850}        | ${100}        | ${1}
`(
  'given $leaseDurationMs, $renewDeadlineMs and $retryPeriodMs ms: $faults rules are broken',
  ({ faults, ...times }: { faults: number } & typeof TIMES) => {
    expect(checkLeaseTimes(times)).toHaveLength(faults);
  },
);

test.each`
  times                                                                    | leaderRate | otherRate | how
  ${TIMES}                                                                 | ${1}       | ${1}      | ${'equal clocks'}
  ${TIMES}                                                                 | ${0.5}     | ${1}      | ${'the clock of the leader runs at half the speed'}
  ${TIMES}                                                                 | ${1}       | ${2}      | ${'that of the other at twice the speed'}
  ${TIMES}                                                                 | ${0.7}     | ${1.5}    | ${'both are wrong'}
  ${{ leaseDurationMs: 1_900, renewDeadlineMs: 1_850, retryPeriodMs: 50 }} | ${1}       | ${1}      | ${'a duration with parts of a second'}
`(
  'given $how: a leader that is cut off may write no more when the other leads',
  async ({ times, leaderRate, otherRate }: { times: typeof TIMES; leaderRate: number; otherRate: number }) => {
    const store = new LeaseStore();
    let isCutOff = false;
    const client = {
      send: (call: KubeRequest): Promise<unknown> =>
        isCutOff ? Promise.reject(new KubeError('away', 0)) : store.send(call),
    };
    const nowMs = (rate: number) => () => performance.now() * rate;
    const leader = candidate(store, 'a', { ...times, client, nowMs: nowMs(leaderRate) });
    await waitUntil('a leads', leader.leads);
    const other = candidate(store, 'b', { ...times, nowMs: nowMs(otherRate) });
    await waitUntil('it is renewed', () => store.calls.filter((call) => call === 'PUT').length > 2);
    isCutOff = true;
    let rounds = 0;
    let both = 0;
    await waitUntil(
      'the other leads',
      () => {
        rounds++;
        const leads = other.leads();
        if (leads && leader.leads()) both++;
        return leads;
      },
      undefined,
      { everyMs: 1 },
    );
    expect(rounds).toBeGreaterThan(50);
    expect(both).toBe(0);
  },
);

test('given a lease that is held for longer than any of ours asks for: the log says what to do', async () => {
  const store = new LeaseStore();
  const spec = { holderIdentity: 'thief', leaseDurationSeconds: 2_147_483_647 };
  store.store({ metadata: { name: 'l' }, spec });
  const lines: object[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line) as object) });
  const { leads } = candidate(store, 'a', { log });
  await waitUntil('several tries', () => store.calls.length > 3);
  expect(lines).toMatchObject([
    { leader: 'thief', msg: 'the lease is held for long: delete it if its holder has ended' },
  ]);
  expect(leads()).toBe(false);
});

import { InputRecorder } from '../../src/state/journal';
import { recordsOf } from '../../src/app/journal/records';
import { readHistory } from '../../src/cli/replay/read-inputs';
import { isDifferent, replay, type Replay, type Request } from '../../src/cli/replay/replay';
import type { Settings } from '../../src/core/model/settings';
import type { JournalRecord } from '../../src/state/journal';
import { decodeLine } from '../../src/state/journal/record';
import { createRandom } from '../support/random';
import { ConfinedNode, randomBound } from './confined-node';
import { randomLists, randomSettings, randomTopology, step } from './random-history';
import { SimulatedNode } from './simulated-node';

const HISTORIES = 120;
const STEPS = 80;

/** The journal of a simulated node, as readers get it: through its text. */
class SimulatedJournal {
  readonly records: JournalRecord[] = [];
  /** The settings in force, by their place in this list: a journal has them as options of the command line. */
  private readonly settings: Settings[] = [];
  private recorder: InputRecorder | undefined;
  private isOff = false;

  constructor(private readonly node: SimulatedNode) {
    const { follower } = node;
    follower.started = (model) => {
      this.recorder = new InputRecorder(model, () => {
        this.settings.push(model.settings);
        return { options: { number: String(this.settings.length - 1) } };
      });
      if (!this.isOff) this.add('1970-01-01T00:00:00Z', this.recorder.start());
    };
    follower.done = (done, at) => {
      if (this.isOff) return;
      const model = this.node.daemon!.model;
      const entry = { isRetry: false, refused: undefined };
      this.add(at, [...this.recorder!.of(done), ...recordsOf(model, done, entry)]);
    };
  }

  /** Begins another file, and forgets what was before it. */
  beginFile(at: string): void {
    this.records.length = 0;
    this.add(at, this.recorder!.list(0));
  }

  /** Records nothing from now on. */
  switchOff(): void {
    this.isOff = true;
  }

  switchOn(at: string): void {
    this.isOff = false;
    this.add(at, this.recorder!.list(0, true));
  }

  async replay({ isPartial }: { readonly isPartial: boolean }): Promise<Replay> {
    const history = await readHistory(streamOf(this.records));
    expect(history.leftOut.length > 0).toBe(isPartial);
    return replay(history, {
      settingsFor: ({ options }) => this.settings[Number(options['number'])]!,
      isAsRecorded: true,
    });
  }

  private add(at: string, records: Iterable<object>): void {
    for (const record of records) {
      const read = decodeLine(JSON.stringify({ at, ...record }));
      if (read.kind !== 'record') throw new Error('no reader takes the record');
      this.records.push(read.record);
    }
  }
}

async function* streamOf(records: readonly JournalRecord[]): AsyncGenerator<JournalRecord> {
  for (const record of records) yield await Promise.resolve(record);
}

/**
 * Plays a random history with kills, lost events, hotplug, full disks and new rules. `beginAt`: another file begins
 * after this step. `gap`: the journal is off from one step to another. `isConfined`: the cgroups of the pods have a
 * part of the machine, and another one now and then. `brings`: requests have CPUs and memory nodes.
 */
async function playAndReplay(
  seed: number,
  {
    beginAt,
    gap,
    isConfined = false,
    brings = false,
  }: {
    readonly beginAt?: number;
    readonly gap?: readonly [number, number];
    readonly isConfined?: boolean;
    readonly brings?: boolean;
  } = {},
): Promise<Replay> {
  const random = createRandom(seed);
  const full = randomTopology(random);
  const settings = randomSettings(random, full);
  const confined = isConfined ? new ConfinedNode(full, settings, randomBound(random, full)) : undefined;
  const node = confined ?? new SimulatedNode(full, settings, true);
  const journal = new SimulatedJournal(node);
  if (brings) node.bring = () => randomLists(random, full);
  node.hasApiServer = random.chance(0.7);
  node.start();
  for (let i = 0; i < STEPS; i++) {
    if (confined && random.chance(0.1)) confined.changeBound(randomBound(random, full));
    step(node, random, full, new Set());
    jest.advanceTimersByTime(50);
    if (!node.daemon) {
      node.diskIsFull = false;
      node.start();
    }
    if (i === beginAt && node.daemon) journal.beginFile('1970-01-01T00:00:00Z');
    if (i === gap?.[0]) journal.switchOff();
    if (i === gap?.[1]) journal.switchOn('1970-01-01T00:00:00Z');
  }
  return journal.replay({ isPartial: gap !== undefined });
}

const show = ({ pod, container, recorded, replayed }: Request): string =>
  `${pod}/${container}: ${JSON.stringify(recorded)}, replayed ${JSON.stringify(replayed)}`;

// Work after an answer is done when a history advances the timers.
beforeAll(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'Date'] }));
afterAll(() => jest.useRealTimers());

test(`${HISTORIES} random histories, replayed with the same rules: the same decision on each request`, async () => {
  const kinds = new Map<string, number>();
  const different: string[] = [];
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { requests } = await playAndReplay(seed);
    different.push(...requests.filter(isDifferent).map((request) => `seed ${seed}: ${show(request)}`));
    for (const { recorded } of requests) kinds.set(recorded.kind, (kinds.get(recorded.kind) ?? 0) + 1);
  }
  expect(different).toEqual([]);
  for (const kind of ['pinned', 'refused', 'shares']) expect(kinds.get(kind)).toBeGreaterThan(HISTORIES / 2);
});

test('nodes whose cgroups have a changing part of the machine: the same decision on each request', async () => {
  const different: string[] = [];
  let barred = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { requests } = await playAndReplay(seed, { isConfined: true, beginAt: STEPS / 2 });
    different.push(...requests.filter(isDifferent).map((request) => `seed ${seed}: ${show(request)}`));
    barred += requests.filter(
      ({ recorded }) => recorded.kind === 'refused' && /online, but the cgroup/.test(recorded.because),
    ).length;
  }
  expect(different).toEqual([]);
  expect(barred).toBeGreaterThan(HISTORIES / 4);
});

test('requests that bring CPUs and memory nodes: the same decision on each, also after the oldest files are gone', async () => {
  const different: string[] = [];
  let bounded = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { requests } = await playAndReplay(seed, { brings: true, ...(seed % 2 === 0 && { beginAt: STEPS / 2 }) });
    different.push(...requests.filter(isDifferent).map((request) => `seed ${seed}: ${show(request)}`));
    bounded += requests.filter(
      ({ recorded }) => recorded.kind === 'refused' && recorded.because.includes('its request brought'),
    ).length;
  }
  expect(different).toEqual([]);
  expect(bounded).toBeGreaterThan(HISTORIES / 10);
});

test('a journal whose oldest files are gone: the same decisions after them', async () => {
  const different: string[] = [];
  let count = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { requests } = await playAndReplay(seed, { beginAt: STEPS / 2 });
    different.push(...requests.filter(isDifferent).map((request) => `seed ${seed}: ${show(request)}`));
    count += requests.length;
  }
  expect(different).toEqual([]);
  expect(count).toBeGreaterThan(HISTORIES);
});

test('a journal that was off for a while: the same decisions before and after', async () => {
  const different: string[] = [];
  let count = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { requests } = await playAndReplay(seed, { gap: [STEPS / 4, STEPS / 2] });
    different.push(...requests.filter(isDifferent).map((request) => `seed ${seed}: ${show(request)}`));
    count += requests.length;
  }
  expect(different).toEqual([]);
  expect(count).toBeGreaterThan(HISTORIES);
});

import { PassThrough, Writable } from 'node:stream';
import { PageFeed, versionOf } from '../../../src/admin/page/page-feed';
import { PageModel } from '../../../src/admin/page/page-model';
import type { PageChange } from '../../../src/admin/page/render/fragments';
import type { ContainerStatus } from '../../../src/admin/model/status';
import { waitUntil } from '../../support/wait-until';
import { SampleBackend, sampleStatus, sampleTopology } from '../sample-status';

let backend: SampleBackend;
let feed: PageFeed;
let renderings: number;
const faults: unknown[] = [];
beforeEach(() => {
  backend = new SampleBackend();
  renderings = 0;
  const model = new PageModel(backend);
  const counting = { render: (...args: Parameters<PageModel['render']>) => (renderings++, model.render(...args)) };
  const note = (fields: unknown): void => void faults.push(fields);
  feed = new PageFeed({
    backend,
    model: counting,
    history: () => Promise.resolve([]),
    log: { error: note, warn: note },
  });
});
afterEach(() => {
  feed.close();
  expect(faults.splice(0)).toEqual([]);
});

/** A browser that reads all. */
class Browser {
  readonly stream = new PassThrough();
  text = '';

  constructor() {
    this.stream.setEncoding('utf8').on('data', (text: string) => (this.text += text));
  }

  get events(): readonly { readonly event: string; readonly change: PageChange }[] {
    return this.text.split('\n\n').flatMap((message) => {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? [];
      return event === undefined || event === 'beat' ? [] : [{ event, change: JSON.parse(data!) as PageChange }];
    });
  }

  /** Times of the server's signs of life. */
  get beats(): readonly string[] {
    return [...this.text.matchAll(/^event: beat\ndata: (.*)\n\n/gm)].map(([, time]) => time!);
  }
}

/** A browser that reads a message only when it is told to: `pending` has what lets it read on. */
function openSlowBrowser(): { stream: Writable; written: string[]; pending: (() => void)[] } {
  const written: string[] = [];
  const pending: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString());
      pending.push(done);
    },
  });
  return { stream, written, pending };
}

/** Opens a stream for a client that stays as long as the stream does. */
function open(stream: Writable, version: string, source = feed): Promise<void> {
  const gone = new AbortController();
  stream.once('close', () => gone.abort());
  return source.reserve(gone.signal)!(stream, version);
}

const change = (id: string, more: Partial<ContainerStatus>): void => {
  const containers = backend.current.containers.map((container) =>
    container.id === id ? { ...container, ...more } : container,
  );
  backend.current = { ...backend.current, containers };
  backend.emit({ kind: 'container', container: containers.find((container) => container.id === id)! });
};

test('a browser with the current content gets nothing; another one gets all of it', async () => {
  const version = versionOf(feed.renderNow([]));
  const [current, older] = [new Browser(), new Browser()];
  await open(current.stream, version);
  await open(older.stream, 'older');
  await waitUntil('both to have a message', () => current.text !== '' && older.text !== '');
  expect(current.events).toEqual([]);
  expect(older.events).toMatchObject([{ event: 'content', change: { map: expect.stringContaining('id="map"') } }]);
});

test('as many streams are open as may be, however many are asked for at once; each gives its place back, one that was never opened too', async () => {
  const clients = Array.from({ length: 400 }, () => new AbortController());
  const opened = clients.map(({ signal }) => feed.reserve(signal));
  expect(opened.map((each) => each !== undefined)).toEqual(clients.map((_, i) => i < 32));
  const browsers = opened.slice(0, 16).map(() => new Browser());
  await Promise.all(browsers.map(({ stream }, i) => opened[i]!(stream, '')));
  expect(feed.reserve(new AbortController().signal)).toBeUndefined();
  for (const client of clients.slice(0, 31)) client.abort();
  expect(clients.map(({ signal }) => feed.reserve(signal) !== undefined).filter((is) => is)).toHaveLength(31);
  expect(feed.reserve(clients[0]!.signal)).toBeUndefined();
});

test('one that fails to open tells its reason', async () => {
  const broken = new PageFeed({
    backend,
    model: new PageModel(backend),
    log: { error: () => undefined, warn: () => undefined },
    history: () => Promise.reject(new Error('no journal')),
  });
  await expect(open(new Browser().stream, '', broken)).rejects.toThrow('no journal');
  broken.close();
});

test('a change of one container is one row, rendered once for all browsers', async () => {
  const version = versionOf(feed.renderNow([]));
  const browsers = Array.from({ length: 10 }, () => new Browser());
  for (const { stream } of browsers) await open(stream, version);
  const before = renderings;
  change('d', { because: 'another reason' });
  change('d', { because: 'the last reason' });
  await waitUntil('all to be told', () => browsers.every(({ events }) => events.length === 1));
  expect(renderings - before).toBe(1);
  expect(browsers[0]!.events[0]).toMatchObject({
    event: 'change',
    change: { replace: [['c-d', expect.stringContaining('the last reason')]], insert: [], remove: [] },
  });
  expect(new Set(browsers.map(({ events }) => JSON.stringify(events))).size).toBe(1);
});

test('a new row names the one before it, and an owner that goes changes its CPUs only', async () => {
  const browser = new Browser();
  await open(browser.stream, versionOf(feed.renderNow([])));
  const [first] = sampleStatus.containers;
  backend.current = {
    ...sampleStatus,
    containers: [...sampleStatus.containers, { ...first!, id: 'new', container: 'zz' }],
  };
  backend.shownTopology = { ...sampleTopology, assignments: sampleTopology.assignments.slice(1) };
  backend.emit({ kind: 'container', container: first! });
  await waitUntil('a change', () => browser.events.length === 1);
  const seen = browser.events[0]!.change;
  expect(seen.map).toBeUndefined();
  expect(seen.insert.filter(([list]) => list === 'containers')).toMatchObject(
    [['containers', `c-${'b'.repeat(64)}`, 'c-new', /zz/]].map((row) =>
      row.map((text) => (text instanceof RegExp ? expect.stringMatching(text) : text)),
    ),
  );
  expect(seen.replace.map(([id]) => id).filter((id) => id.startsWith('cpu-'))).toEqual(['cpu-4', 'cpu-5']);
});

test('without a browser nothing is watched, and after the last one has gone nothing is rendered', async () => {
  expect(backend.watchers).toBe(0);
  const browser = new Browser();
  await open(browser.stream, '');
  expect(backend.watchers).toBe(1);
  browser.stream.destroy();
  await waitUntil('the watch to end', () => backend.watchers === 0);
});

test('a browser that does not read costs no memory: it gets the whole content when it has read on', async () => {
  const { stream: slow, written, pending } = openSlowBrowser();
  const fast = new Browser();
  await open(slow, 'older');
  await open(fast.stream, versionOf(feed.renderNow([])));
  for (let i = 1; i <= 3; i++) {
    change('d', { because: `reason ${i}` });
    await waitUntil('the other browser to be told', () => fast.events.length === i);
  }
  expect(written).toHaveLength(1);
  pending.shift()!();
  await waitUntil('the content', () => written.length === 2);
  expect(written[1]).toMatch(/^event: content\n.*reason 3/s);
  slow.destroy();
});

test('while nothing changes, every browser hears the time of the node every 3 s; one that still reads gets no more to read', async () => {
  const real = [
    'Date',
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'clearImmediate',
  ] as const;
  jest.useFakeTimers({ doNotFake: [...real, 'setTimeout', 'clearTimeout'] });
  try {
    const { stream: slow, written, pending } = openSlowBrowser();
    const browsers = [new Browser(), new Browser()];
    const version = versionOf(feed.renderNow([]));
    for (const { stream } of browsers) await open(stream, version);
    await open(slow, 'older');
    const before = renderings;
    jest.advanceTimersByTime(60_000);
    await waitUntil('the beats', () => browsers.every(({ beats }) => beats.length === 21));
    for (const { beats } of browsers)
      for (const time of beats) expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(5_000);
    expect([slow.writableLength > 0, written.length, renderings - before]).toEqual([true, 1, 0]);
    // Nothing was missed: when it has read on, it gets the next beat and not the whole content again.
    pending.shift()!();
    await waitUntil('the room', () => !slow.writableNeedDrain);
    jest.advanceTimersByTime(3_000);
    await waitUntil('a beat', () => written.length === 2);
    expect(written[1]).toMatch(/^event: beat\n/);
    slow.destroy();
    for (const { stream } of browsers) stream.destroy();
    await waitUntil('the end', () => backend.watchers === 0);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test('a row whose level changes moves to its place: it alone is sent', async () => {
  const many = Array.from({ length: 50 }, (_, i) => ({
    ...sampleStatus.containers[0]!,
    id: `m-${i}`,
    container: `c-${String(i).padStart(2, '0')}`,
  }));
  backend.current = { ...sampleStatus, containers: many };
  const browser = new Browser();
  await open(browser.stream, versionOf(feed.renderNow([])));
  change('m-40', { verdict: { kind: 'violated', reason: 'CPU 3 is offline', since: '2026-11-21T10:00:00Z' } });
  await waitUntil('a change', () => browser.events.length === 1);
  const seen = browser.events[0]!.change;
  expect(seen.insert).toEqual([['containers', null, 'c-m-40', expect.stringContaining('violated')]]);
  expect(seen.remove).toEqual(['c-m-40']);
  expect(seen.replace.map(([id]) => id).filter((id) => id.startsWith('c-'))).toEqual([]);
});

test('a close ends the streams, and one that comes later is ended at once', async () => {
  const [before, after] = [new Browser(), new Browser()];
  await open(before.stream, '');
  feed.close();
  await waitUntil('the end', () => before.stream.writableEnded);
  await open(after.stream, '');
  expect([after.stream.destroyed, backend.watchers]).toEqual([true, 0]);
});

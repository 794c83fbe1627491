import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type PageRig, startPage } from '../admin/page/page-rig';
import { builtBundle } from '../support/built-bundle';
import { daemonArguments, makeDaemonHost } from '../support/daemon-paths';
import { waitUntil } from '../support/wait-until';
import { defineInChromium, takePicture } from './rig/chromium';
import { NodeBackend } from './rig/node-backend';
import { DESK, PHONE, servePages, SMALL } from './rig/served-page';

jest.setTimeout(120_000);

/** Time within which the page has to say that it hears nothing: 8 s, the second of its clock, and a busy machine. */
const NOTICED_MS = 15_000;
/** A server with more signs of life, so that less silence is one: 2.5 s. The daemon has those of a user. */
const OFTEN = { beatMs: 250 };
const SILENT_MS = 2 * OFTEN.beatMs + 2_000;

/** The page says that it is live only while it hears the server. */
defineInChromium((launch) => {
  const served = servePages(launch);
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** Keeps each text at the head of the page, from now on. */
  const noteHeads = (page: Page): Promise<void> =>
    page.evaluate(() => {
      const heads: string[] = [];
      const live = document.getElementById('live')!;
      const note = (): void => {
        const head = `${live.className} ${live.textContent}`.replace(/\s+/g, ' ').trim();
        if (heads.at(-1) !== head) heads.push(head);
      };
      new MutationObserver(note).observe(live, {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
      });
      note();
      Object.assign(window, { heads });
    });
  const headsOf = (page: Page): Promise<string[]> =>
    page.evaluate(() => [...(window as unknown as { heads: string[] }).heads]);
  const secondsIn = (heads: readonly string[]): number[] =>
    heads.flatMap((head) => /not heard for (\d+) s/.exec(head)?.slice(1).map(Number) ?? []);
  const untilSilent = async (page: Page): Promise<void> => {
    await page.getByText('not live').waitFor({ timeout: NOTICED_MS });
    const seen = secondsIn(await headsOf(page)).length;
    await waitUntil('the seconds to go on', async () => secondsIn(await headsOf(page)).length > seen, 10_000);
    const heads = await headsOf(page);
    expect(heads.at(-1)).toMatch(/^off not live:.* not heard for \d+ s$/);
    const seconds = secondsIn(heads);
    expect([...seconds].sort((a, b) => a - b)).toEqual(seconds);
    expect(seconds[0]).toBeLessThanOrEqual(NOTICED_MS / 1_000);
  };

  const startOften = async (): Promise<PageRig<NodeBackend>> => {
    const rig = await startPage(new NodeBackend(SMALL), { assets: served.assets, ...OFTEN });
    closers.push(() => rig.close());
    return rig;
  };

  /** A daemon of the built program, without a runtime. */
  const startDaemon = async (): Promise<{ readonly url: string; readonly pid: number }> => {
    const folder = mkdtempSync(join(tmpdir(), 'live-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    makeDaemonHost(folder, '1x4x2');
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const options = { 'reserved-cpus': '0', 'cgroup-writes': 'off', 'cri-endpoint': 'off', 'http-address': `${port}` };
    const child = spawn(process.execPath, [builtBundle(), ...daemonArguments(folder, options)], {
      env: {},
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    closers.push(() => (child.kill('SIGKILL'), ended));
    const url = `http://127.0.0.1:${port}`;
    await waitUntil('the page', () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    );
    return { url, pid: child.pid! };
  };

  /** The page says for how long it hears nothing, and is live again by itself. */
  const followStoppedDaemon = async (): Promise<void> => {
    const { url, pid } = await startDaemon();
    const page = await served.open(DESK, url);
    await noteHeads(page);
    process.kill(pid, 'SIGSTOP');
    await untilSilent(page);
    await takePicture(page, 'not-live', { fullPage: false });
    process.kill(pid, 'SIGCONT');
    await page.getByText('live', { exact: true }).waitFor({ timeout: 10_000 });
    expect((await headsOf(page)).at(-1)).toBe('on live');
  };

  /** Forwards to the port. While it is stalled nothing passes, and nobody is told. */
  const startNetwork = async (to: number) => {
    const sockets = new Set<Socket>();
    let isStalled = false;
    const server = createServer((near) => {
      const far = connect(to, '127.0.0.1');
      for (const [from, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on('data', (data) => other.write(data));
        from.on('error', () => undefined).on('close', () => (sockets.delete(from), other.destroy()));
        if (isStalled) from.pause();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    return {
      port: (server.address() as AddressInfo).port,
      stall: () => {
        isStalled = true;
        for (const socket of sockets) socket.pause();
      },
      /** New connections pass again; the old ones never do. */
      mendForNew: () => (isStalled = false),
    };
  };

  /** The page says so, and follows again on a new connection. */
  const followThroughLoss = async (): Promise<void> => {
    const { backend, port } = await startOften();
    const network = await startNetwork(port);
    const page = await served.open(PHONE, `http://127.0.0.1:${network.port}`);
    await noteHeads(page);
    network.stall();
    await untilSilent(page);
    const { id } = backend.start('newcomer', 1);
    network.mendForNew();
    await page.locator(`#c-${id}`).waitFor({ timeout: 30_000 });
    expect((await headsOf(page)).at(-1)).toBe('on live');
  };

  /** It is live all the time, and its places are given back. */
  const followQuietServer = async (): Promise<void> => {
    const { backend, url } = await startOften();
    const page = await served.open(DESK, url);
    await noteHeads(page);
    // So many signs of life take more than twice the time after which silence is told.
    const many = (2 * SILENT_MS) / OFTEN.beatMs + 1;
    const stop = new AbortController();
    closers.push(() => stop.abort());
    const stream = await fetch(`${url}/api/v1/stream`, { signal: stop.signal });
    let beats = 0;
    for await (const text of stream.body!.pipeThrough(new TextDecoderStream())) {
      beats += text.match(/^event: beat$/gm)?.length ?? 0;
      if (beats >= many) break;
    }
    expect(await headsOf(page)).toEqual(['on live']);
    expect(backend.watchers).toBe(1);
    await page.close();
    stop.abort();
    await waitUntil('the watch to end', () => backend.watchers === 0);
  };

  // Each waits for real silence, so they wait at the same time.
  test('given a daemon that is stopped as a process, a network that loses its connections without a word, and a server with nothing to tell: the first two are told, with the time, until they are over; the third is live all the time', async () => {
    await Promise.all([followStoppedDaemon(), followThroughLoss(), followQuietServer()]);
  });

  test('times are told as ages that go on, with the time itself on the element, by the clock of the node', async () => {
    const backend = await served.serve(SMALL);
    const since = new Date(Date.now() - 200_000).toISOString();
    const { id } = backend.start('db', 1, { since });
    const page = await served.open();
    const time = page.locator(`#c-${id} time`);
    await page.locator(`#c-${id} time`, { hasText: /^3 min ago$/ }).waitFor();
    expect(await time.getAttribute('datetime')).toBe(since);
    expect(await time.getAttribute('title')).toBe(since.replace(/\.\d+Z$/, 'Z'));
    // They go on by the clock of the browser.
    await page.clock.install({ time: Date.now() });
    await page.reload();
    const young = backend.start('young', 1, { since: new Date().toISOString() });
    const age = async (): Promise<number> => {
      const text = await page.locator(`#c-${young.id} time`).innerText();
      return text === 'now' ? 0 : Number(/^(\d+) s ago$/.exec(text)?.[1]);
    };
    await waitUntil('an age', async () => (await age()) >= 0, 15_000);
    const first = await age();
    await page.clock.fastForward(5_000);
    expect(await age()).toBeGreaterThanOrEqual(first + 5);
    // A browser whose clock is an hour ahead tells the same.
    const wrong = await served.open();
    await wrong.clock.install({ time: Date.now() + 3_600_000 });
    await wrong.reload();
    await wrong.locator(`#c-${id} time`, { hasText: /^[34] min ago$/ }).waitFor();
    // Without JavaScript the time stays.
    const plain = await served.open({ ...DESK, javaScriptEnabled: false });
    expect(await plain.locator(`#c-${id} time`).innerText()).toBe(since.replace(/\.\d+Z$/, 'Z'));
  });
});

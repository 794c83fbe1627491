import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { defineInChromium } from './rig/chromium';
import type { NodeBackend, Shape } from './rig/node-backend';
import { servePages } from './rig/served-page';

jest.setTimeout(60_000);

/** 128 CPUs. */
const MACHINE: Shape = { sockets: 2, nodes: 2, caches: 2, cores: 8 };
const PICTURE = join(__dirname, '../../docs/pictures/page.webp');
const TIME = '2026-11-24T10:03:00.000Z';
const SIZE = { width: 1_280, height: 900 };

/** Pods of the picture, and the cores that each has alone. */
const PODS: readonly (readonly [pod: string, container: string, cores: number])[] = [
  ['postgres-0', 'postgres', 8],
  ['kafka-0', 'broker', 4],
  ['dpdk-gateway', 'poller', 2],
  ['llm-server', 'decode', 12],
  ['matching-engine', 'engine', 4],
  ['redis-0', 'redis', 1],
  ['redis-1', 'redis', 1],
  ['postgres-1', 'postgres', 8],
  ['video-encoder', 'encode', 6],
  ['web', 'nginx', 0],
  ['batch-report', 'main', 0],
];

defineInChromium((launch) => {
  const served = servePages(launch);

  const fill = (backend: NodeBackend): void => {
    const started = PODS.map(([pod, container, cores]) => backend.start(pod, cores, { container }));
    const verdict = { kind: 'drifted', reason: 'the kernel has 0-127', since: TIME } as const;
    backend.change(started[8]!.id, { verdict, drift: { drifts: 1, repairs: 1, failedRepairs: 0, lastAt: TIME } });
    backend.measure(undefined);
    const { node } = backend.current;
    backend.current = { ...backend.current, node: { ...node, policyOptions: ['full-pcpus-only'] } };
  };

  /** The page with a CPU that is pointed at. */
  async function showPage(): Promise<Page> {
    fill(await served.serve(MACHINE));
    const page = await served.open({ viewport: SIZE, colorScheme: 'light', deviceScaleFactor: 1 });
    await page.locator('#cpu-14').hover();
    return page;
  }

  /** A picture in another format and size, as base64. */
  const convert = (page: Page, { data, type }: Picture, to: { type: string; width: number }): Promise<string> =>
    page.evaluate(
      async ([source, target, width]) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const canvas = document.createElement('canvas');
        canvas.width = width;
        canvas.height = Math.round((image.height * width) / image.width);
        const context = canvas.getContext('2d')!;
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        if (target !== 'pixels') return canvas.toDataURL(target, 0.8).split(',')[1]!;
        const { data: pixels } = context.getImageData(0, 0, canvas.width, canvas.height);
        return btoa(String.fromCharCode(...pixels));
      },
      [`data:${type};base64,${data.toString('base64')}`, to.type, to.width] as const,
    );

  test('the picture of the page shows the page as it is now', async () => {
    jest.useFakeTimers({ now: Date.parse(TIME), doNotFake: [...ALL_BUT_DATE] });
    try {
      const page = await showPage();
      const seen: Picture = { data: await page.screenshot({ animations: 'disabled' }), type: 'image/png' };
      const blank = await (await page.context().browser()!.newContext()).newPage();
      if (process.env['UPDATE_DOCS'])
        writeFileSync(
          PICTURE,
          Buffer.from(await convert(blank, seen, { type: 'image/webp', width: SIZE.width }), 'base64'),
        );
      expect(existsSync(PICTURE)).toBe(true);
      const kept: Picture = { data: readFileSync(PICTURE), type: 'image/webp' };
      const [first, other] = await Promise.all(
        [seen, kept].map(async (picture) =>
          Buffer.from(await convert(blank, picture, { type: 'pixels', width: 128 }), 'base64'),
        ),
      );
      const differences = Array.from(first!, (value, index) => Math.abs(value - other![index]!));
      expect(other!.length).toBe(first!.length);
      // Letters are drawn a little differently by each version of Chromium; a part of the page that has moved makes
      // more.
      expect(differences.reduce((sum, each) => sum + each, 0) / differences.length).toBeLessThan(1);
    } finally {
      jest.useRealTimers();
    }
  });
});

interface Picture {
  readonly data: Buffer;
  readonly type: string;
}

/** The server writes dates; all else goes by the real clock. */
const ALL_BUT_DATE = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

import type { BrowserContextOptions, Page } from 'playwright-core';
import { measureContrast } from './rig/contrast';
import { defineInChromium, takePicture } from './rig/chromium';
import type { NodeBackend } from './rig/node-backend';
import { DESK, LARGE, PHONE, servePages, SMALL, TABLET } from './rig/served-page';

jest.setTimeout(60_000);

const at = '2026-11-24T10:00:00.000Z';
const SIZES: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ['1400x900', DESK],
  ['800x600', TABLET],
  ['390x844', PHONE],
];

/** The map and the answer about a CPU, as they lie in the window. All lengths in CSS pixels. */
defineInChromium((launch) => {
  const served = servePages(launch);

  /** 500 containers, half of them with CPUs of their own; one violated, two drifted. */
  const fill = (backend: NodeBackend): void => {
    for (let i = 0; i < 250; i++) backend.start(`pinned-${i}`, 1 + (i % 2));
    for (let i = 0; i < 250; i++) backend.start(`shared-${i}`, 0);
    const { containers } = backend.current;
    backend.change(containers[7]!.id, { verdict: { kind: 'violated', reason: 'CPU 9 is offline', since: at } });
    for (const index of [100, 300])
      backend.change(containers[index]!.id, { verdict: { kind: 'drifted', reason: 'the kernel has 0', since: at } });
  };
  const openLarge = async (options: BrowserContextOptions): Promise<Page> => {
    fill(await served.serve(LARGE));
    return served.open(options);
  };

  interface Place {
    readonly window: { readonly width: number; readonly height: number };
    readonly cpu: Box;
    readonly answer: Box;
    /** The element in the middle of the CPU's square. */
    readonly onTop: string | undefined;
    readonly text: string;
  }
  interface Box {
    readonly top: number;
    readonly bottom: number;
    readonly left: number;
    readonly right: number;
  }
  const placeOf = (page: Page, cpu: number): Promise<Place> =>
    page.evaluate((id) => {
      const boxOf = (element: Element): Box => {
        const { top, bottom, left, right } = element.getBoundingClientRect();
        return { top, bottom, left, right };
      };
      const square = boxOf(document.getElementById(id)!);
      const middle = document.elementFromPoint((square.left + square.right) / 2, (square.top + square.bottom) / 2);
      return {
        window: { width: innerWidth, height: innerHeight },
        cpu: square,
        answer: boxOf(document.getElementById('about')!),
        onTop: middle?.closest('[id]')?.id,
        text: document.getElementById('about-text')!.textContent.trim(),
      };
    }, `cpu-${cpu}`);

  /** The answer is about this CPU, in view as a whole, covers no part of the CPU, and leaves most of the window. */
  const expectAnswered = async (page: Page, cpu: number): Promise<void> => {
    const { window, cpu: square, answer, onTop, text } = await placeOf(page, cpu);
    expect(text).toMatch(new RegExp(`^CPU ${cpu} \\(`));
    for (const { top, bottom, left, right } of [square, answer]) {
      expect(top).toBeGreaterThanOrEqual(0);
      expect(bottom).toBeLessThanOrEqual(window.height);
      expect(left).toBeGreaterThanOrEqual(0);
      expect(right).toBeLessThanOrEqual(window.width);
    }
    expect(onTop).toBe(`cpu-${cpu}`);
    expect(square.bottom <= answer.top || square.top >= answer.bottom).toBe(true);
    expect(answer.bottom - answer.top).toBeGreaterThan(60);
    expect(answer.bottom - answer.top).toBeLessThan(window.height / 4);
  };
  const aboutText = (page: Page): Promise<string | null> => page.locator('#about-text').textContent();

  test.each(SIZES)(
    '1,024 CPUs, %s: the answer about a CPU that is pointed at, or has the focus, is in view, and not over the CPU',
    async (name, options) => {
      const page = await openLarge({ ...options, hasTouch: false, isMobile: false });
      await takePicture(page, `large-${name}`);
      for (const cpu of [17, 0, 300, 529, 767, 1023]) {
        await page.locator(`#cpu-${cpu}`).hover();
        await expectAnswered(page, cpu);
      }
      await page.locator('#cpu-12').hover();
      expect(await aboutText(page)).toMatch(/, violated.*main: violated\. .*\. CPU 9 is offline\. Since /s);
      await page.locator('#cpu-17').hover();
      expect(await aboutText(page)).toMatch(
        /static, default\/pinned-\d+ main.*main: kept\. .*Since \d+ d ago2026-11-24T10:00:00Z$/s,
      );
      await takePicture(page, `large-hover-${name}`, { fullPage: false });

      await page.locator('#map .cpu[tabindex="0"]').focus();
      await expectAnswered(page, 0);
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press('ArrowDown');
        const id = await page.evaluate(() => document.activeElement!.id);
        await expectAnswered(page, Number(id.slice(4)));
      }
      await page.keyboard.press('End');
      await expectAnswered(page, 1023);
      for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowUp');
      await expectAnswered(page, Number((await page.evaluate(() => document.activeElement!.id)).slice(4)));
    },
  );

  test('1,024 CPUs, a phone: a tap tells about the CPU and the map stays, also at the end of the window', async () => {
    const page = await openLarge(PHONE);
    const tapLowest = async (): Promise<number> => {
      const id = await page.evaluate(() => {
        const end = document.getElementById('about')!.getBoundingClientRect().top;
        const inView = [...document.querySelectorAll('#map .cpu[id]')].filter((cell) => {
          const { top, bottom } = cell.getBoundingClientRect();
          return top >= 0 && bottom <= end;
        });
        return inView.at(-1)!.id;
      });
      const before = await page.evaluate(() => scrollY);
      await page.locator(`#${id}`).tap();
      // The focus may move it, by less than a square, so that all of the CPU is above the answer.
      expect(Math.abs((await page.evaluate(() => scrollY)) - before)).toBeLessThan(24);
      return Number(id.slice(4));
    };
    for (const y of [900, 2_000, 4_000]) {
      await page.evaluate((top) => scrollTo(0, top), y);
      await expectAnswered(page, await tapLowest());
    }
    await takePicture(page, 'large-tap', { fullPage: false });
    expect(new URL(page.url()).hash).toBe('');
  });

  test('a click keeps the CPU shown until Escape, the button, or a second click', async () => {
    const page = await openLarge(DESK);
    const follow = page.getByRole('button', { name: 'Follow the pointer' });
    for (const release of [
      () => page.keyboard.press('Escape'),
      () => follow.click(),
      () => page.locator('#cpu-17').click(),
    ]) {
      await page.locator('#cpu-17').click();
      await page.locator('#cpu-40').hover();
      await expectAnswered(page, 17);
      await release();
      expect(await follow.isVisible()).toBe(false);
      await page.locator('#cpu-41').hover();
      await page.locator('#cpu-40').hover();
      await expectAnswered(page, 40);
    }
    await page.locator('#cpu-17').click();
    await page.locator('#about-text a').click();
    expect(new URL(page.url()).hash).toMatch(/^#c-pinned-/);
  });

  test('a pointer below which the wheel has moved the map tells about the CPU that is there', async () => {
    const page = await openLarge(DESK);
    await page.locator('#cpu-17').hover();
    await page.mouse.wheel(0, 400);
    await page.waitForFunction(() => {
      const under = document.querySelector('#map .cpu:hover')?.id;
      const shown = document.getElementById('about-text')!.textContent;
      return under !== undefined && under !== 'cpu-17' && shown.includes(`CPU ${under.slice(4)} (`);
    });
  });

  test('a pointer that lies still below a map that the arrow keys move says nothing, until it moves', async () => {
    const page = await openLarge(TABLET);
    await page.locator('#cpu-17').hover();
    await page.locator('#cpu-0').focus();
    await page.evaluate(() => {
      document.addEventListener('pointerover', () => document.documentElement.classList.add('moved-below'));
    });
    for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowDown');
    const id = await page.evaluate(() => document.activeElement!.id);
    await page.locator('html.moved-below').waitFor();
    await expectAnswered(page, Number(id.slice(4)));
    await page.locator('#cpu-41').hover();
    await expectAnswered(page, 41);
  });

  test.each([
    ...SIZES.map(([name, options]) => [name, LARGE, options] as const),
    ['small 320x640', SMALL, { viewport: { width: 320, height: 640 } }] as const,
  ])(
    '%s: squares have 24 pixels, rows the number of their first CPU, and nothing is wider than the window',
    async (_, shape, options) => {
      await served.serve(shape);
      const page = await served.open(options);
      const measured = await page.evaluate(() => {
        const boxes = [...document.querySelectorAll('#map .cpu[id]')].map((cell) => cell.getBoundingClientRect());
        const rows = [...document.querySelectorAll('#map .row')].map((row) => {
          const numbers = [...row.querySelectorAll('.firsts span')];
          const first = [...row.querySelector('.core')!.children];
          return numbers.map((number, thread) => ({
            number: number.textContent,
            id: first[thread]!.id,
            offset: Math.abs(number.getBoundingClientRect().top - first[thread]!.getBoundingClientRect().top),
            gap: first[thread]!.getBoundingClientRect().left - number.getBoundingClientRect().right,
            isCut: number.scrollWidth > number.clientWidth,
          }));
        });
        return {
          cells: boxes.length,
          least: Math.min(...boxes.flatMap(({ width, height }) => [width, height])),
          rows: rows.flat(),
          overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        };
      });
      expect(measured.cells).toBe(shape === LARGE ? 1_024 : 32);
      expect(measured.least).toBeGreaterThanOrEqual(24);
      expect(measured.overflow).toBeLessThanOrEqual(0);
      expect(measured.rows).toHaveLength(shape === LARGE ? 128 : 8);
      for (const { number, id, offset, gap, isCut } of measured.rows) {
        expect(`cpu-${number}`).toBe(id);
        expect(offset).toBeLessThan(1);
        expect(gap).toBeGreaterThan(0);
        expect(isCut).toBe(false);
      }
    },
  );

  test('the 8 caches of a node stand in rows of 4, 2 or 1, as the window is wide', async () => {
    await served.serve(LARGE);
    const page = await served.open();
    for (const [width, columns] of [
      [1_400, 4],
      [800, 2],
      [390, 1],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      const rows = await page.locator('#map .node').evaluateAll((nodes) =>
        nodes.map((node) => {
          const tops = [...node.querySelectorAll('.cache')].map((cache) =>
            Math.round(cache.getBoundingClientRect().top),
          );
          return [...new Set(tops)].map((top) => tops.filter((each) => each === top).length);
        }),
      );
      const even = Array.from({ length: 8 / columns }, () => columns);
      expect(rows).toEqual(Array.from({ length: 8 }, () => even));
    }
  });

  test('200 owners: those side by side have other colours, a gap and other letters; a square of the same owner is joined', async () => {
    const backend = await served.serve(LARGE);
    for (let i = 0; i < 200; i++) backend.start(`pod-${i}`, 1 + (i % 3));
    const page = await served.open();
    const read = (): Promise<{ pairs: number; same: string[]; tones: string[] }> =>
      page.evaluate(() => {
        const same: string[] = [];
        let pairs = 0;
        for (const row of document.querySelectorAll('#map .row')) {
          const cores = [...row.querySelectorAll('.core')];
          for (const [place, core] of cores.entries()) {
            const next = cores[place + 1];
            for (const [thread, cell] of [...core.children].entries()) {
              const other = next?.children[thread];
              if (!other) continue;
              const isSame =
                cell.getAttribute('href') !== null && cell.getAttribute('href') === other.getAttribute('href');
              if (isSame !== cell.classList.contains('joined')) same.push(`${cell.id} is joined wrongly`);
              if (isSame || cell.tagName !== 'A' || other.tagName !== 'A') continue;
              pairs += 1;
              const [a, b] = [getComputedStyle(cell), getComputedStyle(other)];
              if (a.backgroundColor === b.backgroundColor) same.push(`${cell.id} and ${other.id} look alike`);
              if (cell.textContent === other.textContent) same.push(`${cell.id} and ${other.id} have one letter`);
            }
          }
        }
        const tones = [...document.querySelectorAll('#legend [data-mark] .cpu')].map(({ className }) => className);
        return { pairs, same, tones };
      });
    const before = await read();
    expect(before.same).toEqual([]);
    expect(before.pairs).toBeGreaterThan(200);
    // Owners that stay keep their colours, and newcomers fit in.
    const { containers } = backend.current;
    for (const { id } of containers.filter((_, index) => index % 4 === 0)) backend.end(id);
    for (let i = 0; i < 40; i++) backend.start(`new-${i}`, 1);
    await page.locator('#legend', { hasText: 'new-39' }).waitFor();
    const after = await read();
    expect(after.same).toEqual([]);
  });

  test('drifted and violated CPUs have an edge, a mark and a word; they come first in the table, and links show only them', async () => {
    const page = await openLarge(DESK);
    const marks = (kind: string): Promise<string[]> =>
      page.locator(`#map .${kind}`).evaluateAll((cells) => [
        ...new Set(
          cells.map((cell) => {
            const { borderTopStyle, borderTopWidth, backgroundImage } = getComputedStyle(cell);
            const hatched = backgroundImage.startsWith('repeating-linear-gradient') ? 'hatched' : 'plain';
            const word = cell.getAttribute('aria-label')!.split(', ').at(-1);
            return [borderTopWidth, borderTopStyle, hatched, getComputedStyle(cell, '::after').content, word].join(' ');
          }),
        ),
      ]);
    expect(await marks('violated')).toEqual(['2px solid hatched "!" violated']);
    expect(await marks('drifted')).toEqual(['2px dashed hatched "!" drifted']);
    const names = (): Promise<string[]> => page.locator('#containers tr:visible .verdict').allTextContents();
    expect((await names()).slice(0, 4)).toEqual(['violated', 'drifted', 'drifted', 'kept']);

    await page.getByRole('link', { name: '3 drifted or violated: show them' }).click();
    expect(await names()).toEqual(['violated', 'drifted', 'drifted']);
    await page.getByText('3 of 500').waitFor();
    expect(await page.locator('#containers-title').evaluate((title) => title.getBoundingClientRect().top)).toBeLessThan(
      400,
    );
    await page.getByLabel('Show only').fill('');
    await page.locator('#part-promises').getByRole('link', { name: 'Show them' }).click();
    expect(await names()).toEqual(['violated', 'drifted', 'drifted']);

    // A container that drifts moves to the front, one that is mended back to its place.
    await page.getByLabel('Show only').fill('');
    const { backend } = served.rig;
    const [first, , , other] = [7, 0, 0, 200].map((index) => backend.current.containers[index]!);
    backend.change(other!.id, { verdict: { kind: 'violated', reason: 'CPU 1 is offline', since: at } });
    backend.change(first!.id, { verdict: { kind: 'kept', reason: '', since: at } });
    await page.locator(`#c-${other!.id}.violated`).waitFor();
    await page.locator(`#c-${first!.id}.kept`).waitFor();
    const ids = await page.locator('#containers tr').evaluateAll((rows) => rows.map(({ id }) => id));
    expect([ids[0], ids.length]).toEqual([`c-${other!.id}`, 500]);
    const fresh = await served.open(DESK);
    expect(await fresh.locator('#containers tr').evaluateAll((rows) => rows.map(({ id }) => id))).toEqual(ids);
  });

  test('the links work by address, and without JavaScript they lead to the table with the broken ones at its top', async () => {
    fill(await served.serve(LARGE));
    const page = await served.open(DESK, '/?show=verdict:drifted|violated#containers-title');
    expect(await page.locator('#containers tr:visible').count()).toBe(3);
    const plain = await served.open({ ...DESK, javaScriptEnabled: false });
    await plain.getByRole('link', { name: '3 drifted or violated: show them' }).click();
    await plain.waitForURL(/show=verdict/);
    const first = plain.locator('#containers tr').first();
    expect(await first.getAttribute('class')).toBe('violated');
    const box = (await first.boundingBox())!;
    expect(box.y).toBeGreaterThanOrEqual(0);
    expect(box.y + box.height).toBeLessThanOrEqual(900);
  });

  test('the filter finds the owner of a CPU, and leads to the CPU on the map', async () => {
    const page = await openLarge(DESK);
    const { promise, pod } = served.rig.backend.current.containers.find(({ promise: promised }) =>
      promised!.cpus.has(17),
    )!;
    const shown = (): Promise<string[]> => page.locator('#containers tr:visible th').allTextContents();
    const type = (text: string): Promise<void> => page.getByLabel('Show only').fill(text);
    expect(promise!.cpus.has(17)).toBe(true);
    await type('cpu 17');
    expect((await shown()).map((name) => name.trim())).toEqual([`default/${pod} main`]);
    await type('17');
    const names = await shown();
    expect(names.some((name) => name.includes(`/${pod} `))).toBe(true);
    expect(names.some((name) => name.includes('shared-17 '))).toBe(true);
    await type('cpu 16-19');
    expect((await shown()).length).toBeGreaterThan(1);
    expect(await page.locator('#map .found').count()).toBe(4);
    await type('cpu 1023');
    expect(await shown()).toEqual([]);
    await page.getByRole('link', { name: 'CPU 1023: shared; on the map' }).click();
    await expectAnswered(page, 1023);
    // From the answer to a row that the filter hides.
    await page.locator('#cpu-17').click();
    await page.locator('#about-text').getByRole('link', { name: 'main' }).click();
    expect(await page.getByLabel('Show only').inputValue()).toBe('');
    expect(await page.locator('#containers tr:target th').innerText()).toContain(pod);
  });

  test('refused containers are in the table, with the command that tells more; the line of the node leads to them, and so does a name', async () => {
    const page = await openLarge(DESK);
    const { backend } = served.rig;
    const big = { namespace: 'batch', pod: 'big', container: 'solver', podUid: 'uid-big' };
    const before = new Date(Date.now() - 200_000).toISOString();
    const refused = { ...big, asked: 'creation' as const, because: 'no 4 CPUs are free', lastAt: before, times: 3 };
    backend.refuse({ containers: 30, latest: [refused, { ...refused, pod: 'other', times: 1, asked: 'change' }] });
    const rows = page.locator('#containers tr:visible');
    await page.locator('#containers tr.refused').first().waitFor();
    await page.locator('#part-refused').getByRole('link', { name: 'Show the latest 2' }).click();
    await page.getByText('2 of 502').waitFor();
    const texts = async (): Promise<string[]> => (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    expect(await texts()).toEqual([
      'batch/big solver - - - refused 3 times no 4 CPUs are free More: cpusetd explain batch/big 3 min ago history',
      'batch/other solver - - - refused a change of its resources, 1 time no 4 CPUs are free More: cpusetd explain batch/other 3 min ago history',
    ]);
    await takePicture(page, 'refused', { fullPage: false });
    await page.getByLabel('Show only').fill('batch/big');
    expect(await rows.count()).toBe(1);
    // The word is at every row, and is not looked for.
    await page.getByLabel('Show only').fill('history');
    expect(await rows.count()).toBe(0);
    await page.getByLabel('Show only').fill('');
    backend.refuse(undefined);
    await page.locator('#containers tr.refused').first().waitFor({ state: 'detached' });
    expect(await page.locator('#part-refused').count()).toBe(0);
    // Without JavaScript the line leads to the table too.
    backend.refuse({ containers: 1, latest: [refused] });
    const plain = await served.open({ ...DESK, javaScriptEnabled: false });
    await plain.locator('#part-refused').getByRole('link', { name: 'Show them' }).click();
    await plain.waitForURL(/show=verdict:refused/);
    expect(await plain.locator('#containers tr.refused').innerText()).toMatch(/batch\/big solver/);
  });

  test('drifts and the use by others are told in the row and of the CPU, and nothing of others without the audit', async () => {
    const page = await openLarge(DESK);
    const { backend } = served.rig;
    const owner = backend.current.containers.find(({ promise }) => promise!.cpus.has(17))!;
    const tallies = page.locator(`#c-${owner.id} .tally`);
    expect(await page.locator('.tally').count()).toBe(0);
    const lastAt = new Date(Date.now() - 200_000).toISOString();
    const foreign = { at: lastAt, percent: 12.5, threads: 3, most: '<b>stress' };
    await page.locator('#cpu-17').click();
    backend.change(owner.id, { drift: { drifts: 13, repairs: 8, failedRepairs: 1, lastAt }, foreign });
    await tallies.first().waitFor();
    expect(await tallies.allInnerTexts()).toEqual([
      '13 drifts, the last 3 min ago',
      'others used 12.5 % of it, most by <b>stress',
    ]);
    await page
      .locator('#about-text', {
        hasText:
          /main: kept\. .*\. 13 drifts, the last 3 min ago\S+Z\. others used 12\.5 % of it, most by <b>stress\. Since /,
      })
      .waitFor();
    expect(await page.locator('#about-text time').count()).toBe(2);
    await takePicture(page, 'large-drift', { fullPage: false });
    await expectAnswered(page, 17);
    backend.change(owner.id, { foreign: { ...foreign, percent: 0, threads: 0, most: '' } });
    await page.locator('#about-text', { hasText: 'nobody else seen on it' }).waitFor();
    await page.getByLabel('Show only').fill('verdict:kept cpu 17');
    expect(await page.locator('#containers tr:visible').count()).toBe(1);
    expect(await page.locator('#exclusive-means').innerText()).toMatch(/^Exclusive: no other container runs there;/);
  });

  test('a CPU and a row lead to their history, where more can be asked; the same without JavaScript', async () => {
    const page = await openLarge(DESK);
    const rig = served.rig;
    const owner = rig.backend.current.containers.find(({ promise }) => promise!.cpus.has(17))!;
    const pod = `default/${owner.pod}`;
    rig.records = [
      { at, kind: 'pinned', pod, container: 'main', cpus: owner.promise!.cpus.toString(), because: 'whole cores' },
      { at: '2026-11-24T14:00:00.000Z', kind: 'drifted', pod: 'default/<b>', promised: '2', found: '17' },
      { at: '2026-11-24T15:00:00.000Z', kind: 'refused', pod, because: 'no room' },
      { at: '2026-11-24T16:00:00.000Z', kind: 'pinned', pod: 'default/elsewhere', cpus: '900' },
    ];
    const rows = async (shown: Page): Promise<string[]> =>
      (await shown.locator('#history tr').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
    const ofCpu = [
      '2026-11-24T14:00:00Z drifted default/<b> 2',
      `2026-11-24T10:00:00Z pinned ${pod} main ${owner.promise!.cpus.toString()} whole cores`,
    ];
    await page.locator('#cpu-17').click();
    await page.getByRole('link', { name: 'history of CPU 17' }).click();
    await page.waitForURL(/\/history\?cpu=17$/);
    expect((await rows(page)).map((row) => row.slice(0, ofCpu[0]!.length))).toEqual(
      ofCpu.map((row) => row.slice(0, ofCpu[0]!.length)),
    );
    expect(await page.title()).toBe('History · worker-1 · cpusetd');
    // The owner of CPU 17 at 14:03.
    await page.getByLabel('Until').fill('2026-11-24T14:03:00Z');
    await page.getByLabel('Since').fill('2026-11-24T13:00:00Z');
    await page.keyboard.press('Enter');
    await page.getByText('1 record, the latest first.').waitFor();
    expect(await page.getByLabel('CPUs').inputValue()).toBe('17');
    await page.getByLabel('Since').fill('lunch');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Since: "lunch" can\'t be read; write a duration like 10m or 24h').waitFor();
    expect(served.problems.splice(0)).toEqual([expect.stringContaining('400')]);
    await takePicture(page, 'history-fault', { fullPage: false });
    await page.getByRole('link', { name: 'The node as it is' }).click();
    await page.locator(`#c-${owner.id} a.to-history`).click();
    await page.waitForURL(/\/history\?pod=default%2Fpinned-\d+$/);
    expect(await rows(page)).toHaveLength(2);
    await takePicture(page, 'history', { fullPage: false });

    const plain = await served.open({ ...PHONE, javaScriptEnabled: false });
    await plain.getByLabel('Pod').fill(owner.pod);
    await plain.getByRole('button', { name: 'Search' }).click();
    await plain.waitForURL(/\/history\?pod=/);
    expect(await rows(plain)).toHaveLength(2);
    expect(
      await plain.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    ).toBeLessThanOrEqual(0);
    const measured = await measureContrast(plain);
    expect(measured.length).toBeGreaterThan(10);
    expect(measured.filter(({ ratio, needed }) => ratio < needed)).toEqual([]);
    await takePicture(plain, 'history-phone');
  });
});

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { PageAssets } from '../../../src/admin/page/assets';
import { buildAssets, type PageRig, startPage } from '../../admin/page/page-rig';
import { NodeBackend, type Shape } from './node-backend';

/** 32 CPUs. */
export const SMALL: Shape = { sockets: 2, nodes: 1, caches: 2, cores: 4 };
/** 1,024 CPUs. */
export const LARGE: Shape = { sockets: 2, nodes: 4, caches: 8, cores: 8 };
export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
export const DESK: BrowserContextOptions = { viewport: { width: 1400, height: 900 } };
export const TABLET: BrowserContextOptions = { viewport: { width: 800, height: 600 } };

export interface ServedPage {
  /** Errors of pages; a test that leaves one here fails. */
  readonly problems: string[];
  readonly assets: PageAssets;
  /** The server; a test may put another one in its place. */
  rig: PageRig<NodeBackend>;
  serve(shape: Shape): Promise<NodeBackend>;
  /** Opens the page, or the one with this URL, and waits until it is live. */
  open(options?: BrowserContextOptions, path?: string): Promise<Page>;
}

/** A browser for the tests of a file, and a server for each of them. */
export function servePages(launch: () => Promise<Browser>): ServedPage {
  let browser: Browser;
  let assets: PageAssets | undefined;
  let rig: PageRig<NodeBackend> | undefined;
  const problems: string[] = [];
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await rig?.close();
    rig = undefined;
    expect(problems.splice(0)).toEqual([]);
  });
  return {
    problems,
    get assets() {
      return (assets ??= buildAssets());
    },
    get rig() {
      return rig!;
    },
    set rig(next) {
      rig = next;
    },
    async serve(shape) {
      const backend = new NodeBackend(shape);
      rig = await startPage(backend, { assets: this.assets });
      return backend;
    },
    async open(options = DESK, path = '/') {
      const page = await (await browser.newContext(options)).newPage();
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text());
      });
      page.on('pageerror', (error) => problems.push(String(error)));
      await page.goto(new URL(path, rig?.url).href);
      if (options.javaScriptEnabled !== false) await page.getByText('live', { exact: true }).waitFor();
      return page;
    },
  };
}

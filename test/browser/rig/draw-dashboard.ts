import { buildSync } from 'esbuild';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ROOT } from '../../docs/markdown';
import type { DrawPanels } from './client/draw';
import type { DrawnPanel } from './drawn-panel';

/** Makes a page draw panels. It loads nothing over the network. */
export async function prepareDrawing(page: Page): Promise<void> {
  const style = ['rig/client/panels.css', '../../node_modules/uplot/dist/uPlot.min.css'];
  await page.setContent('<!doctype html><title>dashboard</title>');
  for (const path of style) await page.addStyleTag({ content: readFileSync(join(__dirname, '..', path), 'utf8') });
  const { outputFiles } = buildSync({
    entryPoints: [join(__dirname, 'client/draw.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    logLevel: 'silent',
  });
  await page.addScriptTag({ content: outputFiles[0]!.text });
}

/**
 * Draws a dashboard, and keeps its picture as `name`.png in `$CPUSETD_SCREENSHOTS`, or else in test-logs/dashboards.
 */
export async function drawDashboard(page: Page, name: string, panels: readonly DrawnPanel[]): Promise<void> {
  await page.evaluate(async (all) => {
    (globalThis as unknown as { drawPanels: DrawPanels }).drawPanels(all);
    // uPlot draws after the script.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  }, panels);
  const folder = process.env['CPUSETD_SCREENSHOTS'] ?? join(ROOT, 'test-logs/dashboards');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** The visible parts of a panel. */
export interface Seen {
  /** Texts that are visible within the panel. */
  readonly names: readonly string[];
  /** Parts of its lines or cells that differ from the background, in pixels. */
  readonly inked: number;
  readonly number?: { readonly text: string; readonly colour: string };
  readonly links: readonly string[];
}

/** Looks at a drawn panel. */
export function lookAt(page: Page, title: string): Promise<Seen> {
  return page.locator(`[data-title=${JSON.stringify(title)}]`).evaluate((panel) => {
    const outer = panel.getBoundingClientRect();
    const names = [...panel.querySelectorAll('.legend span, .name, th, td')].filter((element) => {
      // Scrolling reaches the lines of a long list below its end: they count.
      const { width, left, right } = element.getBoundingClientRect();
      return width > 0 && left >= outer.left && right <= outer.right;
    });
    let inked = 0;
    for (const canvas of panel.querySelectorAll('canvas')) {
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
      // Texts and grids are grey: colours are of lines and cells.
      for (let i = 0; i < data.length; i += 4)
        if (
          data[i + 3]! > 60 &&
          Math.max(data[i]!, data[i + 1]!, data[i + 2]!) - Math.min(data[i]!, data[i + 1]!, data[i + 2]!) > 40
        )
          inked++;
    }
    for (const bar of panel.querySelectorAll('.bar b')) inked += bar.clientWidth * bar.clientHeight;
    const number = panel.querySelector('.number');
    return {
      names: names.map(({ textContent }) => textContent),
      inked,
      ...(number && { number: { text: number.textContent, colour: getComputedStyle(number).color } }),
      links: [...panel.querySelectorAll('a')].map((link) => link.getAttribute('href')!),
    };
  });
}

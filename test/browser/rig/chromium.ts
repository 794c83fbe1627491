import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { loadScript } from '../../support/load-script';
import { defineWithPrerequisite } from '../../support/not-run';

const script = join(__dirname, '../../../scripts/browser/chromium.mjs');

/**
 * Defines tests that need Chromium. The first call on a machine unpacks it (about a minute); later ones find it in the
 * cache.
 */
export function defineInChromium(define: (launch: () => Promise<Browser>) => void): void {
  const done = spawnSync(process.execPath, [script], { encoding: 'utf8', timeout: 900_000 });
  const why = (done.stderr ?? '').trim().split('\n').at(-1) || String(done.error ?? done.signal);
  defineWithPrerequisite(done.status === 0 ? undefined : `no Chromium: ${why}`, () =>
    define(async () => {
      const { chromiumArguments } = await loadScript<{ chromiumArguments: string[] }>('browser/chromium.mjs');
      return chromium.launch({ executablePath: done.stdout.trim(), args: [...chromiumArguments] });
    }),
  );
}

/** Keeps a picture of the page, where somebody wants to look at it. */
export async function takePicture(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  const folder = process.env['CPUSETD_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage });
}

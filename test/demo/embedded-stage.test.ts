import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchDaemon } from '../../scripts/demo/cpusetd';
import { openEmbeddedStage } from '../../scripts/demo/embedded-stage';
import { runDemo } from '../../scripts/demo/run-demo';
import { patienceMs, startDaemon } from '../e2e/rig';
import { builtBundle } from '../support/built-bundle';
import { makeDaemonHost, rigArguments } from '../support/daemon-paths';

// The daemon is the real one, in a process of its own.
beforeAll(() => void builtBundle());

test('the embedded stage: every claim holds, and none is about a process or the kernel', async () => {
  const lines: string[] = [];
  const say = (text: string): void => void lines.push(...text.split('\n'));
  const status = await runDemo({ stage: await openEmbeddedStage(), say, patienceMs });
  expect({ status, failed: lines.filter((line) => line.startsWith('   WRONG ')) }).toEqual({ status: 0, failed: [] });
  const claims = lines.filter((line) => /^ {3}(held|WRONG) /.test(line));
  expect(claims.length).toBeGreaterThan(10);
  for (const claim of claims) expect(claim).not.toMatch(/Cpus_allowed_list|first process|kernel|WRONG/);
});

test('a daemon that reaches no runtime: health is not SERVING', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'alone-'));
  makeDaemonHost(folder, '1x4x2');
  const daemon = startDaemon({ args: rigArguments(folder, { 'reserved-cpus': '0', 'cri-endpoint': 'off' }) });
  try {
    const seen = watchDaemon(daemon);
    expect(await seen.health('nri')).toMatch(/cpusetd\.sock|admin\.sock/); // no admin socket yet
    await daemon.waitForLog('started');
    expect(await seen.health('nri')).toBe('NOT_SERVING');
    expect(await seen.health('nrj')).toBe('a service that it does not know');
  } finally {
    await daemon.dispose();
    rmSync(folder, { recursive: true });
  }
});

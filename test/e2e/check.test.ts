import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createCriClient } from '../../src/cri/client';
import { bundle, defineOnce, onEachRuntime, type Runtime, startDaemon, startRuntime } from './rig';

jest.setTimeout(300_000);

const run = promisify(execFile);

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly text: string;
  readonly remedy?: string;
}

onEachRuntime('cpusetd check', (suite) => {
  let runtime: Runtime;
  let dir: string;
  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cpusetd-check-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  /** Exit status and findings by check. */
  const check = async ({ adminSocket = join(dir, 'admin.sock') }: { adminSocket?: string } = {}, ...args: string[]) => {
    const own = ['--kubelet-root-dir', dir, '--state-dir', join(dir, 'state'), '--admin-socket', adminSocket];
    const sockets = ['--nri-socket', runtime.nriSocket, '--cri-endpoint', runtime.criSocket];
    const command = [bundle, 'check', '-o', 'json', '--reserved-cpus', '0', ...sockets, ...own, ...args];
    const ended = await run(process.execPath, command, { env: { PATH: process.env['PATH'] } }).then(
      ({ stdout }) => ({ status: 0, stdout }),
      (error: unknown) => {
        const { code, stdout, stderr } = error as {
          readonly code: number;
          readonly stdout: string;
          readonly stderr: string;
        };
        if (stdout === '') throw new Error(stderr);
        return { status: code, stdout };
      },
    );
    const { findings } = JSON.parse(ended.stdout) as { readonly findings: readonly Finding[] };
    return { status: ended.status, findings: new Map(findings.map((each) => [each.check, each])) };
  };

  test('a runtime with NRI: nothing is in the way, and a daemon with the same options starts; then it is said to run', async () => {
    const before = await check();
    expect([...before.findings.values()].filter(({ level }) => level === 'error')).toEqual([]);
    expect(before.status).toBe(0);
    expect(before.findings.get('nri')!.text).toMatch(/nri\.sock answers; .* has NRI \d+\.\d+\.\d+ or newer$/);
    expect(before.findings.get('runtime')!.text).toMatch(/^(containerd|cri-o) v?\d+\.\d+/);
    expect(before.findings.has('running')).toBe(false);

    const daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    try {
      await daemon.ready();
      const { findings } = await check(daemon);
      expect(findings.get('running')!.text).toBe(`cpusetd answers on ${daemon.adminSocket}`);
    } finally {
      await daemon.dispose();
    }
  });

  test('the limits of huge pages, which containerd drops by default', async () => {
    const client = createCriClient(runtime.criSocket);
    try {
      const { name } = await client.version();
      expect(await client.readSettings(name)).toEqual({ hugePages: suite === 'crio' ? 'reported' : 'dropped' });
    } finally {
      client.close();
    }
  });

  defineOnce(suite, () => {
    test('a kubelet with its own CPU manager, and another reservation, are errors', async () => {
      writeFileSync(
        join(dir, 'config.yaml'),
        'kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "1"\n',
      );
      const { status, findings } = await check();
      expect(status).toBe(1);
      expect(findings.get('kubelet')!.level).toBe('error');
      expect(findings.get('reservation')!.text).toBe('the kubelet reserves CPUs 1, cpusetd CPUs 0');
    });
  });

  test('a runtime without NRI: the remedy is the setting of this runtime; with --mode cri-proxy nothing is in the way', async () => {
    await runtime.stop();
    runtime = await startRuntime({ suite, nri: false });
    const { status, findings } = await check();
    expect(status).toBe(1);
    const name = findings.get('runtime')!.text.split(' ')[0]!;
    expect(findings.get('nri')).toMatchObject({
      level: 'error',
      remedy: expect.stringContaining(name === 'containerd' ? 'disable = false' : 'enable_nri = true'),
    });
    expect((await check({}, '--mode', 'cri-proxy')).status).toBe(0);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { builtBundle } from '../support/built-bundle';
import { daemonArguments, daemonPaths } from '../support/daemon-paths';

test('the first log line has all options in force, with the place where each non-default one was set', () => {
  const folder = mkdtempSync(join(tmpdir(), 'options-'));
  try {
    const file = join(folder, 'cpusetd.yaml');
    writeFileSync(file, 'reserved-cpus: 0\ncpu-manager-policy-options:\n  full-pcpus-only: true\nlog-level: debug\n');
    mkdirSync(join(folder, 'sys')); // a machine without CPUs ends the start after this line
    const args = daemonArguments(folder, { config: file, 'log-level': 'info', kubeconfig: '/etc/kube' });
    const { stdout, status } = spawnSync(process.execPath, [builtBundle(), ...args], {
      env: { CPUSETD_RECONCILE_PERIOD: '20s' },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    const first = JSON.parse(stdout.split('\n')[0]!) as Record<string, unknown>;
    expect(first).toMatchObject({
      level: 'info',
      msg: 'starting with these options',
      version: expect.stringMatching(/^\d/),
      options: {
        mode: 'nri',
        'cpu-manager-policy': 'static',
        'cpu-manager-policy-options': 'full-pcpus-only=true',
        'reserved-cpus': '0',
        'reconcile-period': '20s',
        kubeconfig: '/etc/kube',
        'log-level': 'info',
        'cri-endpoint': join(folder, 'cri-endpoint'),
      },
    });
    expect(first['options']).not.toHaveProperty('reserved-cpu-count');
    expect(first['setAt']).toEqual({
      'reserved-cpus': `${file}:1: reserved-cpus`,
      'cpu-manager-policy-options': expect.stringContaining(file),
      'log-level': '--log-level',
      'reconcile-period': 'CPUSETD_RECONCILE_PERIOD',
      ...Object.fromEntries([...Object.keys(daemonPaths(folder)), 'kubeconfig'].map((name) => [name, `--${name}`])),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

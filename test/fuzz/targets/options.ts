import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, nameOf, OPTION_KEYS } from '../../../src/app/config';

export const maxBytes = 2_048;

const names = OPTION_KEYS.map(nameOf);

export const seeds = (): readonly Uint8Array[] =>
  [
    '--reserved-cpus=0-1',
    '--mode=cri-proxy\n--cri-listen=cri.sock\n--cri-endpoint=/run/containerd/containerd.sock\n--reserved-cpus=0',
    'CPUSETD_RESERVED_CPU_COUNT=500m\nCPUSETD_TOPOLOGY_MANAGER_POLICY=restricted',
    'reserved-cpus: 0-1\ncpu-manager-policy-options:\n  full-pcpus-only: true\n',
    '{"reserved-cpus": "0", "pod-policies": ["numa", "exclusive"], "kubeconfig": "/etc/k"}',
    ...names.map((name) => `--${name}=1`),
  ].map((text) => Buffer.from(text));

/**
 * Lines `--name=value` are flags, lines `NAME=value` the environment, and the rest is the file: together they give a
 * configuration, or problems of one line, each with its remedy.
 */
export async function fuzz(data: Buffer): Promise<void> {
  const lines = data.toString('utf8').split('\n');
  const flags: Record<string, string[]> = {};
  const env: Record<string, string> = {};
  const rest: string[] = [];
  for (const line of lines) {
    const [, flag, variable, value] = /^(?:--([a-z-]+)|(CPUSETD_[A-Z_]+))=(.*)$/.exec(line) ?? [];
    // The command line parser passes only known flags; --config would read a file of the machine.
    if (flag !== undefined && names.includes(flag)) (flags[flag] ??= []).push(value!);
    else if (variable !== undefined && variable !== 'CPUSETD_CONFIG') env[variable] = value!;
    else rest.push(line);
  }
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-fuzz-'));
  if (rest.length > 0) {
    const file = join(folder, 'options.yaml');
    writeFileSync(file, rest.join('\n'));
    flags['config'] = [file];
  }
  const loaded = await loadConfig({ flags, env }).finally(() => rmSync(folder, { recursive: true }));
  if (loaded.ok) return;
  for (const problem of loaded.problems)
    if (problem.length > 8_000 || !/[;,:]/.test(problem))
      throw new Error(`a problem that says too much or too little: ${problem}`);
}

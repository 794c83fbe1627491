import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../app/config';
import { parseYaml } from '../../files/parse-yaml';
import { readBounded } from '../../files/read-bounded';
import { readKubeletConfig } from '../../kube/kubelet/kubelet-config';
import { MAX_KUBELET_STATE_BYTES, parseKubeletState } from '../../state/kubelet-checkpoint';
import type { KubeletFacts, KubeletFlags } from './facts';

const MAX_CONFIG_BYTES = 64 * 1024;
const MAX_COMMAND_LINE_BYTES = 64 * 1024;

/** Reads what the kubelet says of its CPU manager and its reservation: its state file, its configuration, and its command line where it runs. */
export function readKubelet({ kubeletRootDir, kubeletConfig }: Config, procRoot: string): KubeletFacts {
  const statePath = join(kubeletRootDir, 'cpu_manager_state');
  const flags = readFlags(procRoot);
  const facts = { statePath, state: readState(statePath), ...(flags && { flags }) };
  const path =
    kubeletConfig?.kind === 'file'
      ? kubeletConfig.path
      : [flags?.config, join(kubeletRootDir, 'config.yaml')].find((each) => each !== undefined && existsSync(each));
  return path === undefined ? facts : { ...facts, config: { path, read: readConfigFile(path) } };
}

/** Undefined when no kubelet is seen to run. */
function readFlags(procRoot: string): KubeletFlags | undefined {
  const pid = listNumbers(procRoot).find((name) => readShort(join(procRoot, name, 'comm')) === 'kubelet');
  if (pid === undefined) return undefined;
  const read = readBounded(join(procRoot, pid, 'cmdline'), MAX_COMMAND_LINE_BYTES);
  const args = read.ok ? read.text.split('\0') : [];
  const flags = new Map<string, string>();
  for (const [i, arg] of args.entries()) {
    const [, name, value] = /^--?([a-z][a-z-]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name !== undefined) flags.set(name, value ?? args[i + 1] ?? '');
  }
  const pick = (key: keyof KubeletFlags, name: string): object => (flags.has(name) ? { [key]: flags.get(name) } : {});
  return {
    ...pick('config', 'config'),
    ...pick('cpuManagerPolicy', 'cpu-manager-policy'),
    ...pick('reservedCpus', 'reserved-cpus'),
    ...pick('runtimeEndpoint', 'container-runtime-endpoint'),
    reservesByFlag: flags.has('kube-reserved') || flags.has('system-reserved'),
  };
}

function listNumbers(procRoot: string): readonly string[] {
  try {
    return readdirSync(procRoot).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function readShort(path: string): string | undefined {
  const read = readBounded(path, 4096);
  return read.ok ? read.text.trim() : undefined;
}

function readState(path: string): KubeletFacts['state'] {
  const read = readBounded(path, MAX_KUBELET_STATE_BYTES);
  if (!read.ok) return read.kind === 'missing' ? 'missing' : 'foreign';
  const parsed = parseKubeletState(read.text);
  if (parsed.ok) return parsed.state.policyName === 'static' ? 'static' : 'none';
  return /"policyName"\s*:\s*"static"/i.test(read.text) ? 'static' : 'foreign';
}

function readConfigFile(path: string): NonNullable<KubeletFacts['config']>['read'] {
  const read = readBounded(path, MAX_CONFIG_BYTES);
  if (!read.ok) return { ok: false, because: read.because };
  const parsed = parseYaml(read.text);
  if (!parsed.ok) return { ok: false, because: parsed.because };
  try {
    if (parsed.document.errors[0]) throw parsed.document.errors[0];
    const document: unknown = parsed.document.toJS();
    const found = readKubeletConfig(document);
    if (!found) return { ok: false, because: 'it is not a KubeletConfiguration' };
    const { cgroupDriver, containerRuntimeEndpoint } = document as Readonly<Record<string, unknown>>;
    return {
      ok: true,
      value: {
        ...found,
        ...(typeof cgroupDriver === 'string' && { cgroupDriver }),
        ...(typeof containerRuntimeEndpoint === 'string' && { runtimeEndpoint: containerRuntimeEndpoint }),
      },
    };
  } catch (error) {
    return { ok: false, because: (error as Error).message };
  }
}

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../app/config';
import { isJsonObject, type JsonObject } from '../../core/json-object';
import { compareTexts } from '../../core/text';
import { readFirstDocument } from '../../files/parse-yaml';
import { readBounded } from '../../files/read-bounded';
import { listUnknownFields, readKubeletConfig } from '../../kube';
import { MAX_KUBELET_STATE_BYTES, parseKubeletState } from '../../state/kubelet-checkpoint';
import type { KubeletFacts, KubeletFlags } from './facts';

const MAX_CONFIG_BYTES = 64 * 1024;
const MAX_COMMAND_LINE_BYTES = 64 * 1024;

/**
 * Reads what the kubelet says of its CPU manager and its reservation: its state file, its configuration, and its
 * command line where it runs.
 */
export function readKubelet({ kubeletRootDir, kubeletConfig }: Config, procRoot: string): KubeletFacts {
  const statePath = join(kubeletRootDir, 'cpu_manager_state');
  const flags = readFlags(procRoot);
  const facts = { statePath, state: readState(statePath), ...(flags && { flags }) };
  const path =
    kubeletConfig?.kind === 'file'
      ? kubeletConfig.path
      : [flags?.config, join(kubeletRootDir, 'config.yaml')].find((each) => each !== undefined && existsSync(each));
  return path === undefined ? facts : { ...facts, config: { path, ...readConfig(path, flags?.configDir) } };
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
    ...pick('configDir', 'config-dir'),
    ...pick('cpuManagerPolicy', 'cpu-manager-policy'),
    ...pick('memoryManagerPolicy', 'memory-manager-policy'),
    ...pick('topologyManagerPolicy', 'topology-manager-policy'),
    ...pick('reservedCpus', 'reserved-cpus'),
    ...pick('runtimeEndpoint', 'container-runtime-endpoint'),
    ...pick('cgroupRoot', 'cgroup-root'),
    ...pick('cgroupDriver', 'cgroup-driver'),
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

/**
 * The configuration file of the kubelet, with the files of its `--config-dir` merged over it as the kubelet does: those
 * named `*.conf`, folders included, in the order of their paths; mappings are merged, everything else is replaced.
 */
function readConfig(
  path: string,
  directory: string | undefined,
): Pick<NonNullable<KubeletFacts['config']>, 'read' | 'remarks'> {
  try {
    const paths = [path, ...(directory === undefined ? [] : listParts(directory))];
    const parts = paths.map((file) => ({ path: file, ...readDocument(file) }));
    const remarks = parts.flatMap(({ path: file, value, hasMore }) => [
      ...(hasMore ? [`${file} has several documents: the kubelet and cpusetd read the first`] : []),
      ...listUnknownFields(value).map((sentence) => `${file}: ${sentence}`),
    ]);
    return { read: readMerged(parts.map(({ value }) => value).reduce(merge)), remarks };
  } catch (error) {
    return { read: { ok: false, because: (error as Error).message } };
  }
}

function readMerged(document: unknown): NonNullable<KubeletFacts['config']>['read'] {
  const found = readKubeletConfig(document);
  if (!found) return { ok: false, because: 'it is not a KubeletConfiguration' };
  const { containerRuntimeEndpoint } = document as JsonObject;
  return {
    ok: true,
    value: {
      ...found,
      ...(typeof containerRuntimeEndpoint === 'string' && { runtimeEndpoint: containerRuntimeEndpoint }),
    },
  };
}

/** More files are surely not meant. */
const MAX_PARTS = 64;

/** Throws Error when there are too many, and the error of the system. */
function listParts(directory: string): readonly string[] {
  const found = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.conf'));
  if (found.length > MAX_PARTS) throw new Error(`${directory} has ${found.length} files, more than ${MAX_PARTS}`);
  return found.sort(compareTexts).map((name) => join(directory, name));
}

/** Throws Error that says what is wrong. */
function readDocument(path: string): ReturnType<typeof readFirstDocument> {
  const read = readBounded(path, MAX_CONFIG_BYTES);
  if (!read.ok) throw new Error(read.because);
  return readFirstDocument(read.text);
}

/** A JSON merge patch (RFC 7386). */
function merge(before: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged = new Map(Object.entries(isJsonObject(before) ? before : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null) merged.delete(key);
    else merged.set(key, merge(merged.get(key), value));
  return Object.fromEntries(merged);
}

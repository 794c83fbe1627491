import { CpuListError, MAX_CPU_ID, parseCpuList, type CpuSet } from '../../../core/cpuset';
import { POLICY_NAMES, type PolicyName } from '../../../core/model/policies';
import { accept, excerpt, reject, type ValueType } from './value-type';

/** CPUs in the kernel's list format; at least one. */
export const cpuList: ValueType<CpuSet> = {
  placeholder: 'cpus',
  parse: (text) => {
    const remedy = 'write CPU ids and ranges like 0-1,8';
    try {
      const cpus = parseCpuList(text);
      return cpus.isEmpty ? reject('names no CPU', remedy) : accept(cpus);
    } catch (error) {
      if (error instanceof CpuListError) return reject('is not a list of CPUs', remedy);
      throw error;
    }
  },
};

/**
 * The number of CPUs of a Kubernetes quantity (`2`, `1.5`, `500m`), rounded up to whole CPUs as the kubelet does
 * with a reservation; more than zero.
 */
export const cpuQuantity: ValueType<number> = {
  placeholder: 'quantity',
  parse: (text) => {
    const remedy = 'write CPUs like 2, 1.5 or 500m';
    const match = /^(?:(\d{1,9})m|(\d{1,6}(?:\.\d{1,3})?))$/.exec(text);
    if (!match) return reject('is not a quantity of CPUs', remedy);
    const milliCpus = match[1] === undefined ? Math.round(Number(match[2]) * 1_000) : Number(match[1]);
    if (milliCpus === 0) return reject('reserves nothing, and the system needs at least one CPU', remedy);
    const count = Math.ceil(milliCpus / 1_000);
    return count <= MAX_CPU_ID ? accept(count) : reject('is more than any machine has', remedy);
  },
};

/** Options of a policy by name, values as they were written: `full-pcpus-only=true,strict-cpu-reservation=true`. */
export const keyValues: ValueType<ReadonlyMap<string, string>> = {
  placeholder: 'k=v,...',
  parse: (text) => {
    const remedy = 'write name=value, separated by commas';
    const values = new Map<string, string>();
    for (const part of text === '' ? [] : text.split(',')) {
      const [, name, value] = /^\s*([^=\s]+)\s*=\s*([^=\s]+)\s*$/.exec(part) ?? [];
      if (name === undefined || value === undefined)
        return reject(`has a part that is no pair (${excerpt(part.trim())})`, remedy);
      if (values.has(name)) return reject(`sets ${excerpt(name)} twice`, 'set it once');
      values.set(name, value);
    }
    return accept(values);
  },
};

/** The policies that pods may choose by annotation: names, `all`, or `off` for none of them. */
export const podPolicies: ValueType<readonly PolicyName[]> = {
  placeholder: 'policies',
  parse: (text) => {
    if (text === 'off') return accept([]);
    if (text === 'all') return accept(POLICY_NAMES);
    const names = text.split(',').map((name) => name.trim());
    const unknown = names.find((name) => !POLICY_NAMES.some((known) => known === name));
    if (unknown === undefined) return accept(POLICY_NAMES.filter((known) => names.includes(known)));
    return reject(
      `names ${unknown === '' ? 'nothing' : excerpt(unknown)}, which is no policy`,
      `choose from ${POLICY_NAMES.join(', ')}, or write all or off`,
    );
  },
};
